"""The lines of a trace as the page reads them: each with a `page` entry of what the viewer adds to it.

A header brings the labels of the prompt's tokens and the source of every step; a round brings its frames with
their sentences, the layout of its tree, the labels of its new tokens and the pieces of text it wrote. The page
drops the `page` entries again when it saves, so what is saved is the trace itself.
"""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from collections.abc import Iterator
from types import SimpleNamespace

from core.common.ink import LINES, visible
from core.config import DecodeConfig
from core.trace import Output, Prompt, Round, TokenText, Trace

from .frames import frames, pack
from .labels import show
from .language import LANGUAGES
from .layout import layout
from .narrate import narrate, round_gain, undrafted
from .source import sources

TITLE = 200  # characters of a prompt that may be needed to fill one line


class PageLines:
    """Takes the lines of one trace in order, finished or growing, and returns each with its `page` entry."""

    def __init__(self, name: str = ""):
        self.name = name  # of a recorded run, so that a link can find it again
        self._words: dict[str, TokenText] = {}
        self._trace = SimpleNamespace(token=lambda i: self._words[str(i)], prompt=None, config={})
        self._text = Pieces()
        self._rounds = 0

    def add(self, line: str) -> str:
        """`line` is one that `TraceBuilder.add` or `Trace.to_lines` made; "" stays ""."""
        if not line.strip():
            return ""
        part = json.loads(line)
        words = {i: TokenText.model_validate(word) for i, word in part["vocabulary"].items()}
        if "round" in part:
            part["page"] = self.round(Round.model_validate(part["round"]), words)
        elif "prompt" in part:
            part["page"] = self._header(part, words)
        elif "output" in part:
            part["page"] = self._footer(part, words)
        else:
            part["page"] = {"labels": self._learn(words)}
        return _spelled(part) + "\n"

    @staticmethod
    def plain(clock: list[float]) -> str:
        """A line of the page's own: the next moments of plain decoding, while a run is compared with it."""
        return _spelled({"page": {"plain": clock}}) + "\n"

    def _header(self, part: dict, words: dict[str, TokenText]) -> dict:
        labels = self._learn(words)
        self._trace.prompt = Prompt.model_validate(part["prompt"])
        self._trace.config = part["config"]
        pieces = [[self._piece(i), self._trace.token(i).special] for i in part["prompt"]["token_ids"]]
        title = visible(self._trace.prompt.text[:TITLE], LINES)
        policy = visible(DecodeConfig.from_dict(part["config"]).told(), LINES)
        return {"labels": labels, "prompt": pieces, "title": title, "policy": policy, "source": sources(),
                "name": self.name}

    def round(self, r: Round, words: dict[str, TokenText]) -> dict:
        """The `page` entry of a round; `words` has at least those of its tokens that no line before it had."""
        self._rounds += 1
        labels = self._learn({i: words[i] for i in map(str, r.token_ids) if i not in self._words})
        place = layout(r)
        first = [[0, self._piece(r.root)]] if r.index == 0 else []
        wrote = [[r.tree.candidate[row], self._piece(r.tokens[row])] for row in r.accept.path[1:]]
        wrote.append([len(r.candidates.token) + 1, self._piece(r.accept.bonus)])
        return {
            "labels": labels,
            "frames": [self._frame(r, frame) for frame in frames(r)],
            "gain": {language: round_gain(r, language) for language in LANGUAGES},
            "box": list(place), "y": [y for _, y in place.values()],
            "pieces": first + wrote,
        }

    def _frame(self, r: Round, frame) -> dict:
        return {"kind": frame.kind, "layer": frame.layer, "code": frame.code, "states": pack(frame.states),
                "focus": list(frame.focus),
                "say": {language: narrate(self._trace, r, frame, language) for language in LANGUAGES}}

    def _footer(self, part: dict, words: dict[str, TokenText]) -> dict:
        """Of a run that ended before its first round: the token that the target said, and that it was all."""
        if self._rounds:
            return {}
        labels = self._learn(words)
        self._trace.output = Output.model_validate(part["output"])
        return {"labels": labels, "pieces": [[0, self._piece(i)] for i in part["output"]["token_ids"]],
                "say": {language: undrafted(self._trace, language) for language in LANGUAGES}}

    def _learn(self, words: dict[str, TokenText]) -> dict[str, str]:
        self._words |= words
        return {i: show(word) for i, word in words.items()}

    def _piece(self, token: int) -> str:
        """What a token adds to the text, as it reads, with a mark for what would be invisible."""
        return visible(self._text.add(self._trace.token(token)), LINES)


class Pieces:
    """The text that a sequence of tokens spells, token by token: a character that is split over tokens appears
    whole at its last one, and the ones before it are empty."""

    def __init__(self):
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def add(self, word: TokenText) -> str:
        raw = word.text.encode("utf-8", "replace") if word.bytes is None else bytes.fromhex(word.bytes)
        return self._decoder.decode(raw)


def _spelled(value: dict) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot travel


def each_line(trace: Trace, name: str = "") -> Iterator[str]:
    """The lines of a whole trace as the page reads them, one by one: telling a long run takes seconds."""
    page, (header, *lines, footer) = PageLines(name), trace.lines()
    yield page.add(header)
    for r, line in zip(trace.rounds, lines):  # already checked, and spelled: a long run is not read again
        yield f'{line.rstrip()[:-1]},"page":{_spelled(page.round(r, trace.vocabulary))}}}\n'
    yield page.add(footer)


def page_lines(trace: Trace, name: str = "") -> str:
    """A whole trace as the string that the page reads."""
    return "".join(each_line(trace, name))


def trace_of(lines: str) -> Trace:
    """The trace that page lines show; a run that is still going on counts as cancelled. Raises TraceError."""
    parts = ({k: v for k, v in json.loads(line).items() if k != "page"} for line in lines.split("\n") if line)
    parts = (part for part in parts if part)  # some lines are the page's alone
    return Trace.from_lines(next(parts), parts)
