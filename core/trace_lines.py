"""JSON lines: what a live run appends, and what the page reads as it grows.

A header line, a line per round with the words it brings, a footer line: the same document as plain JSON, cut
where a run can be interrupted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from .errors import UserError
from .summary import finish_cancelled


class TraceError(UserError):
    """Not a trace we can read; the message is one sentence that names the field."""


FORMAT = "eagle2-trace"
HEADER_FIELDS = ("format", "schema_version", "created", "producer", "pair", "config", "prompt", "vocabulary")
FOOTER_FIELDS = ("output", "summary", "check")


def _line(value: dict) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def header_line(document: dict) -> str:
    """The first line, from a document whose vocabulary covers at least the prompt."""
    return _line({name: document[name] for name in HEADER_FIELDS})


def round_line(round_: dict, vocabulary: dict) -> str:
    """A round as one line, with the vocabulary entries that no line before it had."""
    return _line({"round": round_, "vocabulary": vocabulary})


def footer_line(document: dict, vocabulary: dict) -> str:
    """The last line; a run that ends before its first round may bring a word here."""
    return _line({name: document[name] for name in FOOTER_FIELDS} | {"vocabulary": vocabulary})


def split_lines(document: dict) -> Iterator[str]:
    """The lines that spell a document."""
    words = document["vocabulary"]
    seen = {str(i) for i in document["prompt"]["token_ids"]}
    yield header_line(document | {"vocabulary": {i: words[i] for i in words if i in seen}})
    for round_ in document["rounds"]:
        new = {str(i): words[str(i)] for i in round_ids(round_) if str(i) not in seen}
        seen |= set(new)
        yield round_line(round_, new)
    yield footer_line(document, {i: word for i, word in words.items() if i not in seen})


def round_ids(round_: dict) -> dict[int, None]:
    """Every token id that a round (as plain JSON values) mentions, in order of appearance."""
    target = round_["target"]
    tops = (i for row in target["top"] for i, _ in row)
    return dict.fromkeys([round_["root"], *round_["candidates"]["token"], *target["argmax"], *tops,
                          round_["accept"]["bonus"]])


def join_lines(head: dict, rest: str) -> dict:
    """The document that the lines spell. A run that was cut off (no footer) counts as cancelled."""
    for name in HEADER_FIELDS:
        if name not in head:
            raise TraceError(f"This is not a sound EAGLE-2 trace: its first line has no {name}.")
    document = head | {"vocabulary": dict(head.get("vocabulary") or {}), "rounds": []}
    lines = rest.split("\n")
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        if "output" in document:
            raise TraceError(f"This is not a sound EAGLE-2 trace: line {number} follows the footer.")
        try:
            part = json.loads(line)
        except json.JSONDecodeError:
            if number == len(lines) + 1 and not rest.endswith("\n"):
                break  # the writer was stopped in the middle of its last line
            raise TraceError(f"This is not a sound EAGLE-2 trace: line {number} is not JSON.") from None
        if isinstance(part, dict) and set(part) == {"round", "vocabulary"} and isinstance(part["vocabulary"], dict):
            document["rounds"].append(part["round"])
            document["vocabulary"].update(part["vocabulary"])
        elif isinstance(part, dict) and set(part) == {*FOOTER_FIELDS, "vocabulary"} and isinstance(
                part["vocabulary"], dict):
            document["vocabulary"].update(part.pop("vocabulary"))
            document.update(part)
        else:
            raise TraceError(f"This is not a sound EAGLE-2 trace: line {number} is neither a round nor the footer.")
    if "output" not in document:
        document.update(finish_cancelled(document))
    return document
