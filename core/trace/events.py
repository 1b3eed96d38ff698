"""The events of a run, in the order they happen, and their fold into a `Trace`.

RunStarted, PromptRead*, RootDecided, (RoundStarted, LayerDrafted*, TreePruned, TreeVerified, PathAccepted,
CacheCommitted)*, RunFinished. Events hold plain values, in the columns of the trace format, so that a listener needs
no torch. `vocabulary` on an event holds the words of token ids that no earlier event has mentioned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .document import SCHEMA_VERSION, Trace
from .lines import FORMAT, check_line, footer_line, header_line, round_line
from .summary import NO_CHECK, Totals, finish_cancelled

Words = dict[str, dict]  # token id -> {text, special, bytes}


@dataclass(frozen=True, slots=True)
class RunStarted:
    created: str
    producer: dict
    pair: dict
    config: dict
    prompt: dict
    vocabulary: Words
    check: dict = field(default_factory=lambda: dict(NO_CHECK))  # what there is to say of it until it is compared


@dataclass(frozen=True, slots=True)
class PromptRead:
    """How many tokens of a long prompt have been read, of how many: told after each piece, in no trace."""

    read: int
    total: int


@dataclass(frozen=True, slots=True)
class RootDecided:
    """The target has read the prompt and said the first root, which is out with that. `texts` is what each of
    `token_ids` lets a reader see: "" for part of a character, the whole of it for the token that completes it."""

    token_ids: list[int]
    texts: list[str]
    vocabulary: Words


@dataclass(frozen=True, slots=True)
class RoundStarted:
    index: int
    prefix_length: int
    root: int
    vocabulary: Words


@dataclass(frozen=True, slots=True)
class LayerDrafted:
    """What the head was asked at once: what it was fed, every child it scored, who is fed next, and the passes it took."""

    layer: int
    expanded: list[int]
    token: list[int]
    parent: list[int]
    log_prob: list[float]
    score: list[float]
    selected: list[int]
    passes: int
    vocabulary: Words


@dataclass(frozen=True, slots=True)
class TreePruned:
    candidate: list[int]
    parent: list[int]
    depth: list[int]
    position_ids: list[int]
    mask: list[str]
    retrieve_indices: list[list[int]]
    cutoff: float | None


@dataclass(frozen=True, slots=True)
class TreeVerified:
    argmax: list[int]
    token_prob: list[float]
    top: list[list[list]]
    vocabulary: Words


@dataclass(frozen=True, slots=True)
class PathAccepted:
    rule: str
    row: int
    path: list[int]
    length: int
    draws: list[dict]
    bonus: int
    bonus_from: int
    vocabulary: Words


@dataclass(frozen=True, slots=True)
class CacheCommitted:
    """The end of a round. `token_ids` are what it adds to the output, the accepted tokens and the bonus, cut where the
    run ends; `texts` as in `RootDecided`."""

    kept: list[int]
    length_before: int
    length_after: int
    seconds: dict[str, float]
    token_ids: list[int]
    texts: list[str]


@dataclass(frozen=True, slots=True)
class RunFinished:
    output: dict
    summary: dict
    check: dict = field(default_factory=lambda: dict(NO_CHECK))


@dataclass(frozen=True, slots=True)
class PlainDecoded:
    """Plain decoding of the same prompt, which a run is compared with, has its token number `place` (from 0), after so many
    seconds of its own."""

    place: int
    token_id: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RunChecked:
    """What the comparison with plain decoding found, once the run has ended."""

    check: dict
    vocabulary: Words = field(default_factory=dict)


Event = (RunStarted | PromptRead | RootDecided | RoundStarted | LayerDrafted | TreePruned | TreeVerified | PathAccepted
         | CacheCommitted | RunFinished | PlainDecoded | RunChecked)


class TraceBuilder:
    """Folds events into a trace as they come: `add` each one, then take `trace`.

    `add` returns the JSON line that the event completes ("" for most), so that writing the lines of a live run
    and folding it are one thing. A round counts once its cache is committed; what an interrupted round had
    drafted is not part of any trace.
    """

    def __init__(self):
        self.document: dict = {}
        self._round: dict = {}
        self._words: Words = {}  # told since the last line
        self._emitted: list[int] = []
        self._check = dict(NO_CHECK)

    def add(self, event: Event) -> str:
        match event:
            case RunStarted():
                self._check = event.check
                self.document = {"format": FORMAT, "schema_version": SCHEMA_VERSION, "created": event.created,
                                 "producer": event.producer, "pair": event.pair, "config": event.config,
                                 "prompt": event.prompt, "vocabulary": dict(event.vocabulary), "rounds": []}
                return header_line(self.document)
            case RootDecided():
                self._words, self._emitted = dict(event.vocabulary), list(event.token_ids)
                self.document["vocabulary"] |= self._words
            case RoundStarted():
                self._words |= event.vocabulary
                self._round = {"index": event.index, "prefix_length": event.prefix_length, "root": event.root,
                               "candidates": {name: [] for name in ("token", "parent", "layer", "log_prob", "score")},
                               "layers": []}
            case LayerDrafted():
                columns = self._round["candidates"]
                for name in ("token", "parent", "log_prob", "score"):
                    columns[name] += getattr(event, name)
                columns["layer"] += [event.layer] * len(event.token)
                self._round["layers"].append({"expanded": event.expanded, "selected": event.selected,
                                              "passes": event.passes})
                self._words |= event.vocabulary
            case TreePruned():
                self._round["tree"] = _columns(event)
            case TreeVerified():
                self._round["target"] = _columns(event)
                self._words |= event.vocabulary
            case PathAccepted():
                self._round["accept"] = _columns(event)
                self._words |= event.vocabulary
            case CacheCommitted():
                self._round["cache"] = {"kept": event.kept, "length_before": event.length_before,
                                        "length_after": event.length_after}
                self._round["seconds"] = event.seconds
                self._emitted += event.token_ids
                self.document["rounds"].append(self._round)
                self.document["vocabulary"] |= self._words
                words, self._words = self._words, {}
                return round_line(self._round, words)
            case RunFinished():
                return self._finish(_columns(event))
            case RunChecked():
                self.document["check"] = event.check
                self.document["vocabulary"] |= event.vocabulary
                return check_line(event.check, event.vocabulary)
        return ""

    def cancel(self) -> str:
        """End a run that will not finish by itself; returns its footer line."""
        totals = Totals()
        for round_ in self.document["rounds"]:
            totals.add_round(round_)
        ending = finish_cancelled(totals, self.document["vocabulary"], self._emitted)
        return self._finish(ending | {"check": self._check})

    def _finish(self, footer: dict) -> str:
        self.document |= footer
        # of a run without rounds, the word of its one token; of a round that broke off, nothing
        named = {} if self.document["rounds"] else {str(i) for i in self._emitted}
        words = {i: word for i, word in self._words.items() if i in named}
        return footer_line(self.document, words)

    @property
    def trace(self) -> Trace:
        """The finished run, validated. Raises TraceError if the events do not tell a sound one."""
        return Trace.from_dict(self.document)


def fold(events: Iterable[Event]) -> Trace:
    """The trace that a complete stream of events tells."""
    builder = TraceBuilder()
    for event in events:
        builder.add(event)
    return builder.trace


def _columns(event) -> dict:
    return {name: getattr(event, name) for name in event.__slots__ if name != "vocabulary"}
