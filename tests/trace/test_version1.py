"""Recordings of version 1: they open everywhere as the version 2 they would be, and the same is told of them.

`version1/` holds four of them as they were written, the first rounds of a fifth as lines, and what the program of that
time told of each: the sentences of every frame of every round.
"""

import gzip
import json
import re
from copy import deepcopy
from pathlib import Path

import pytest

from core.cli.main import main
from core.trace import Trace, TraceError
from treeviz.page.gallery import lines_in
from treeviz.story.frames import frames
from treeviz.story.lines import page_lines, trace_of
from treeviz.story.narrate import narrate, plain, round_gain

HOME = Path(__file__).parent / "version1"
FILES = sorted(path for path in HOME.iterdir() if path.name != "sentences.json.gz")
WHOLE = [path for path in FILES if path.name.endswith(".json.gz")]
TOLD = json.loads(gzip.decompress((HOME / "sentences.json.gz").read_bytes()))


def raw(path) -> dict:
    return json.loads(gzip.decompress(path.read_bytes()))


def as_lines(document: dict) -> str:
    """A document of version 1 as that version spelled it in lines."""
    head = {k: v for k, v in document.items() if k not in ("rounds", "output", "summary", "check")}
    foot = {k: document[k] for k in ("output", "summary", "check")} | {"vocabulary": {}}
    lines = [head, *({"round": r, "vocabulary": {}} for r in document["rounds"]), foot]
    return "".join(json.dumps(line) + "\n" for line in lines)


def values(sentence: str) -> list[str]:
    """The tokens and numbers of a sentence, in their order: its words may be mended."""
    return re.findall("“[^”]*”|[\u2212.]*[0-9][0-9.]*", sentence)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_same_is_told(path):
    trace, told = Trace.load(path), TOLD[path.name]
    assert [" ".join([*(f.kind for f in frames(r)), "gain"]) for r in trace.rounds] == told["kinds"]
    for r, sentences in zip(trace.rounds, told["en"], strict=True):
        now = [plain(narrate(trace, r, f)) for f in frames(r)] + [round_gain(r)]
        assert list(map(values, now)) == list(map(values, sentences))


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name)
def test_what_was_recorded_is_what_is_read(path):
    old, trace = raw(path), Trace.load(path)
    new = trace.to_dict()
    assert (old["schema_version"], new["schema_version"]) == (1, 2)
    assert new["output"] == old["output"] and new["vocabulary"] == old["vocabulary"] and new["prompt"] == old["prompt"]
    assert new["config"] == {"policy": "eagle2"} | old["config"]
    assert new["pair"] == old["pair"] | {"head": {
        "kind": "eagle", "layers": [old["pair"]["num_hidden_layers"]], "vocab_size": old["pair"]["vocab_size"]}}
    assert {k: new["summary"][k] for k in old["summary"]} == old["summary"]
    sampled = old["config"]["temperature"] > 0
    for before, now in zip(old["rounds"], new["rounds"], strict=True):
        assert now["accept"].pop("rule") == ("one-hot" if sampled else "greedy")
        now["accept"]["tests"] = now["accept"].pop("draws")
        assert [layer.pop("passes") for layer in now["layers"]] == [1] * (old["config"]["depth"] + 1)
        assert now == before
    lengths = [r["accept"]["length"] for r in old["rounds"]]
    assert new["summary"]["mean_acceptance_length"] == pytest.approx(1 + sum(lengths) / len(lengths))
    assert new["summary"]["acceptance_histogram"] == [lengths.count(n) for n in range(old["config"]["depth"] + 2)]


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.name)
def test_either_spelling_and_every_door(path, tmp_path, capsys):
    trace, document = Trace.load(path), raw(path)
    for text in (as_lines(document), json.dumps(document), json.dumps(document, indent=1)):
        assert Trace.from_text(text) == trace
    assert Trace.from_dict(document) == trace
    assert document == raw(path), "what was handed over is as it was"
    trace.save(tmp_path / "new.jsonl")
    assert Trace.load(tmp_path / "new.jsonl") == trace
    assert '"schema_version":2' in (tmp_path / "new.jsonl").read_text()[:99]
    assert trace_of("".join(lines_in(path, "old"))) == trace_of(page_lines(trace)) == trace
    assert main(["check-trace", str(path)]) == 0 and main(["show", str(path), "--round", "2"]) == 0
    assert f"Round 2 of {len(trace.rounds)}" in capsys.readouterr().out


def test_lines_that_were_cut_off_keep_their_rounds():
    path = HOME / "lost.jsonl.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    trace = Trace.load(path)
    assert len(trace.rounds) == len(lines) - 1 == 4 and trace.output.finish_reason == "cancelled"
    first, *later = (json.loads(line)["round"] for line in lines[1:])
    tokens = [first["root"]]
    for r in (first, *later):
        row_tokens = [r["root"], *(r["candidates"]["token"][c - 1] for c in r["tree"]["candidate"][1:])]
        tokens += [*(row_tokens[row] for row in r["accept"]["path"][1:]), r["accept"]["bonus"]]
    assert trace.output.token_ids == tokens
    header = Trace.from_text(lines[0])
    assert not header.rounds and header.output.token_ids == [] and header.summary.acceptance_histogram == []


def test_a_run_without_rounds():
    old = raw(WHOLE[0])
    nothing = {"rounds": 0, "new_tokens": 1, "tau": 0.0, "accepted_by_depth": [0] * 5, "seconds": {"prefill": 0.1},
               "target_forwards": 1, "head_forwards": 0}
    output = old["output"] | {"token_ids": old["output"]["token_ids"][:1], "finish_reason": "eos"}
    old |= {"rounds": [], "summary": nothing, "output": output}
    assert Trace.from_dict(old).summary.accepted_by_depth == []
    old["summary"] = nothing | {"accepted_by_depth": [0, 1, 0, 0, 0]}
    with pytest.raises(TraceError, match="accepted_by_depth"):
        Trace.from_dict(old)


BENT = [
    (("rounds", 0, "accept", "tests"), None), (("rounds", 0, "accept"), 7), (("rounds", 0, "layers", 1), []),
    (("rounds", 1), None), (("rounds",), 5), (("rounds",), {"0": {}}), (("rounds", 0, "layers"), None),
    (("rounds", 0, "cache", "kept"), [0, 0]), (("summary", "tau"), 9.0), (("summary",), None),
    (("summary", "accepted_by_depth"), 3), (("summary", "accepted_by_depth", 0), 99),
    (("summary", "accepted_by_depth", 4), 7), (("summary", "head_forwards"), 1), (("pair",), None),
    (("pair", "num_hidden_layers"), "x"), (("pair", "vocab_size"), 1), (("config",), []), (("config", "seed"), "x"),
    (("config", "depth"), 1), (("config", "top_k"), ...), (("config", "more"), 1), (("output", "token_ids", 3), 0),
    (("output",), ...), (("check",), ...), (("summary",), ...), (("created",), ...), (("more",), 1)]


@pytest.mark.parametrize("path, value", BENT, ids=str)
def test_what_is_not_sound_is_refused_as_in_any_file(path, value):
    document = deepcopy(raw(WHOLE[0]))
    place = document
    for step in path[:-1]:
        place = place[step]
    place.pop(path[-1]) if value is ... else place.__setitem__(path[-1], value)
    lines = value is not ... and isinstance(document.get("rounds"), list)  # a cut end is no fault in lines
    for text in (json.dumps(document), *([as_lines(document)] if lines else [])):
        with pytest.raises(TraceError) as refused:
            Trace.from_text(text)
        sentence, name = str(refused.value), [step for step in path if isinstance(step, str)][-1]
        assert {"tests": "draws"}.get(name, name) in sentence and "\n" not in sentence, sentence


@pytest.mark.parametrize("version", [0, 3, 99, "1", 1.0, None, True, [2]])
def test_other_versions_and_formats_are_told_which_are_read(version):
    document = raw(WHOLE[0]) | {"schema_version": version}
    for text in (json.dumps(document), as_lines(document)):
        with pytest.raises(TraceError, match=r"schema_version is .*, this program reads versions 1 to 2: record"):
            Trace.from_text(text)
    with pytest.raises(TraceError, match="reads versions 1 to 2"):
        Trace.from_dict(document | {"format": "eagle3-trace"})
