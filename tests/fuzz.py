"""Mutated trace files, and what the loader makes of each: a trace that the page can show, or one sentence.

    python -m tests.fuzz [COUNT [SEED]]     5,000 files unless told; a line for each that is no sentence, takes over two
                                            seconds or over 500 MB, and at the end what the worst ones took (Linux)
"""

from __future__ import annotations

import gzip
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from copy import deepcopy
from pathlib import Path

from core import Trace, TraceError
from core.trace.show import round_lines, summary_lines
from tests.trace_maker import make_trace
from treeviz.story.lines import page_lines

SECONDS, MEGABYTES = 2, 500
HUGE = "@huge@"  # stands for a number that Python's json would not write
VALUES = (None, True, False, 0, 1, -1, 5, 2**31, 2**53, 2**64, 10**18, 10**400, -10**400, 10**4200, HUGE, 0.5, -0.0, 1e-320, 1e308,
          -1e308, float("nan"), float("inf"), "", "1", "-1", "x" * 5000, "é\ud800", "\x00\x1b[2J", [], {}, [[]], [{}], {"": None},
          [None], [0] * 5000, [[0, 0.5]] * 500, {"0": 1}, {"1": {"text": "a", "special": False}}, "00", "ff" * 4000)
NOISE = '{}[]",:0123456789-eE.ntfNaI\\u \n\r\t\x00\ufeff\u2028é'


def places(value, path=()):
    """The path of every value in a document."""
    yield path
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(each, (*path, key))


def old(document: dict) -> dict:
    """The same run as version 1 would have spelled it."""
    document["schema_version"] = 1
    del document["config"]["policy"], document["pair"]["head"], document["check"]["tokens"], document["check"]["seconds"]
    for name in ("mean_acceptance_length", "acceptance_rate_per_pos", "draft_acceptance_rate", "acceptance_histogram"):
        del document["summary"][name]
    for r in document["rounds"]:
        del r["accept"]["rule"]
        r["accept"]["tests"] = r["accept"].pop("draws")
        for layer in r["layers"]:
            del layer["passes"]
    return document


class Mutator:
    """Files that were traces. Of one seed always the same."""

    def __init__(self, seed: int):
        self.dice = random.Random(seed)
        self.texts = []
        for settings in (dict(), dict(temperature=1.0), dict(top_k=1, depth=6, total_tokens=7), dict(policy="plain"),
                         dict(policy="chain", length=4), dict(top_k=6, depth=0, total_tokens=6),
                         dict(words=["é", b"\xf0\x9f", b"\x98\x80", "<|end|>", *[f" {i}" for i in range(12)]])):
            self.texts.append(json.dumps(make_trace(rounds=3, **settings).to_dict()))
        self.texts.append(json.dumps(old(make_trace(rounds=3, temperature=1.0).to_dict())))

    def file(self) -> tuple[str, bytes]:
        """What was done, and the bytes."""
        document = json.loads(self.dice.choice(self.texts))
        kind = self.dice.choice((self.values, self.values, self.header, self.lists, self.lines, self.noise, self.stream, self.bomb))
        data = kind(document)
        data = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
        return kind.__name__, data

    def spelled(self, document: dict) -> str:
        """As a document, or as lines, perhaps without the footer."""
        huge = lambda text: text.replace(f'"{HUGE}"', "9" * self.dice.choice((300, 4000, 5000)))  # noqa: E731
        known = {"rounds", "output", "summary", "check"}
        if self.dice.random() < 0.5 or not isinstance(document.get("rounds"), list):
            return huge(json.dumps(document, indent=self.dice.choice((None, None, 1))))
        lines = [{k: v for k, v in document.items() if k not in known}]
        lines += [{"round": r, "vocabulary": {}} for r in document["rounds"]]
        if self.dice.random() < 0.6:
            lines.append({k: document.get(k) for k in ("output", "summary", "check")} | {"vocabulary": {}})
        return huge("".join(json.dumps(line) + "\n" for line in lines))

    def value(self):
        """Of nobody else: what is put somewhere may be bent further."""
        return deepcopy(self.dice.choice(VALUES))

    def put(self, document: dict, path: tuple, value) -> None:
        for step in path[:-1]:
            document = document[step]
        if value is ...:
            del document[path[-1]]
        else:
            document[path[-1]] = value

    def values(self, document: dict) -> str:
        for _ in range(self.dice.choice((1, 1, 2, 5))):
            path = self.dice.choice([path for path in places(document) if path])
            self.put(document, path, self.value() if self.dice.random() < 0.97 else ...)
        return self.spelled(document)

    def header(self, document: dict) -> str:
        """The few fields that everything is measured by."""
        name = self.dice.choice(("config", "pair", "prompt", "summary", "output", "vocabulary", "check", "producer"))
        inner = document[name]
        if self.dice.random() < 0.2 or not inner:
            document[name] = self.value()
        else:
            inner[self.dice.choice([*inner, "more"])] = self.value()
        if self.dice.random() < 0.3:
            document["rounds"] = []
        return self.spelled(document)

    def lists(self, document: dict) -> str:
        """A column longer, shorter, turned around, or of other numbers."""
        def at(path):
            value = document
            for step in path:
                value = value[step]
            return value
        column = self.dice.choice([value for value in map(at, places(document)) if isinstance(value, list) and value])
        match self.dice.randrange(6):
            case 0:
                column *= self.dice.choice((2, 50, 1000))
            case 1:
                column.pop(self.dice.randrange(len(column)))
            case 2:
                column.reverse()
            case 3:
                column[:] = [self.value() for _ in column]
            case 4:
                column[:] = [each + self.dice.choice((-1, 1)) if isinstance(each, (int, float)) else each for each in column]
            case 5:
                column.append(column)
        try:
            return self.spelled(document)
        except ValueError:  # a list within itself
            return "[" * self.dice.choice((500, 100_000))

    def lines(self, document: dict) -> str:
        lines = [*Trace.from_dict(document).lines()]
        for _ in range(self.dice.randrange(1, 4)):
            i, j = self.dice.randrange(len(lines)), self.dice.randrange(len(lines))
            match self.dice.randrange(6):
                case 0:
                    lines[i], lines[j] = lines[j], lines[i]
                case 1:
                    lines.insert(i, lines[j])
                case 2:
                    lines[i] = lines[i][:self.dice.randrange(len(lines[i]) + 1)]
                case 3:
                    lines[i] = self.dice.choice(("\n" * 100_000, " \r\n", "null\n", "5\n", "[]\n", "{}\n", "\x00", "\u2028"))
                case 4:
                    lines[i] = lines[i].replace(":", self.dice.choice((":-", ":1e999,", ": ", ":[", ":null,\"a\":")), 1)
                case 5:
                    lines[i] = lines[i].rstrip("\n")
        return "".join(lines)

    def noise(self, document: dict) -> str:
        text = self.spelled(document)
        for _ in range(self.dice.choice((1, 1, 3, 30))):
            at = self.dice.randrange(len(text) + 1)
            text = text[:at] + "".join(self.dice.choices(NOISE, k=self.dice.randrange(6))) + text[at + self.dice.randrange(8):]
        return text[:self.dice.randrange(len(text) + 1)] if self.dice.random() < 0.2 else text

    def stream(self, document: dict) -> bytes:
        """A gzip file, or several, bent."""
        text = self.spelled(document).encode("utf-8", "surrogatepass")
        at = self.dice.randrange(len(text) + 1)
        data = bytearray(self.dice.choice((gzip.compress(text), gzip.compress(text[:at]) + gzip.compress(text[at:]))))
        for _ in range(self.dice.choice((0, 1, 1, 4))):
            i = self.dice.randrange(len(data))
            match self.dice.randrange(5):
                case 0:
                    data[i] ^= 1 << self.dice.randrange(8)
                case 1:
                    del data[i:i + self.dice.choice((1, 9, len(data)))]
                case 2:
                    data[i:i] = self.dice.randbytes(self.dice.randrange(1, 9))
                case 3:
                    data += self.dice.choice((b"\0" * 600, b"tail", gzip.compress(b""), b"\x1f", b"\x1f\x8b\x08", bytes(data)))
                case 4:
                    data[:10] = self.dice.randbytes(10)
            data = data or bytearray(b"\x1f\x8b")
        return bytes(data)

    def bomb(self, document: dict) -> bytes:
        """Much of one thing; seldom, for it takes time to make."""
        if self.dice.random() < 0.8:
            return self.noise(document).encode("utf-8", "surrogatepass")
        filling = self.dice.choice(("\n", " ", "[", "0", "\0", "[],", '{"a":', "0,", "\n{}", '"a",', "0.5,", "9"))
        begin = self.dice.choice(("", "[", next(iter(Trace.from_dict(document).lines())), '{"format":"eagle2-trace","rounds":['))
        many = (filling * (2**24 // len(filling))).encode()
        return gzip.compress(begin.encode() + many, 1) + gzip.compress(many, 1) * self.dice.choice((0, 3, 20))


def judge(path: Path) -> str:
    """"taken" or "refused" for a file. Raises AssertionError, or whatever the loader should not have raised."""
    try:
        trace = Trace.load(path)
    except TraceError as error:
        sentence = str(error)
        assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 600, sentence[:2000]
        return "refused"
    assert Trace.from_text(page_lines(trace) and trace.to_lines()) == trace
    for line in (*summary_lines(trace), *(line for r in trace.rounds for line in round_lines(trace, r.index))):
        assert isinstance(line, str)
    return "taken"


def _peak(reset: bool = False) -> float:
    """Megabytes this process has held at most since the last reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024


def main(count: int = 5000, seed: int = 0) -> int:
    mutator, seen, faults, slowest, largest = Mutator(seed), Counter(), 0, 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        for number in range(count):
            kind, data = mutator.file()
            path.write_bytes(data)
            _peak(reset=True)
            started, fault = time.process_time(), ""
            signal.alarm(30)  # what is endless ends here, with a traceback
            try:
                seen[kind, judge(path)] += 1
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"[:300]
            signal.alarm(0)
            seconds, megabytes = time.process_time() - started, _peak()
            slowest, largest = max(slowest, seconds), max(largest, megabytes)
            if fault or seconds > SECONDS or megabytes > MEGABYTES:
                faults += 1
                kept = Path(tempfile.gettempdir()) / f"fuzz-{seed}-{number}"
                kept.write_bytes(data)
                print(f"{kept} ({kind}): {seconds:.2f} s, {megabytes:.0f} MB {fault}", flush=True)
    for (kind, verdict), n in sorted(seen.items()):
        print(f"{kind:>8} {verdict}: {n}")
    print(f"{count} files, {faults} faults; the slowest took {slowest:.2f} s, the largest {largest:.0f} MB")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
