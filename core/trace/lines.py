"""JSON lines: what a live run appends, and what the page reads as it grows.

A header line, a line per round with the words it brings, a footer line, and perhaps a line of what a comparison with plain
decoding found afterwards: the same document as plain JSON, cut where a run can be interrupted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from pydantic_core import from_json

from ..errors import UserError


class TraceError(UserError):
    """Not a trace we can read; the message is one sentence that names the field."""


FORMAT = "eagle2-trace"
HEADER_FIELDS = ("format", "schema_version", "created", "producer", "pair", "config", "prompt", "vocabulary")
FOOTER_FIELDS = ("output", "summary", "check")
LATER = (("round",), FOOTER_FIELDS, ("check",))  # lines after the header, in their order
LINE = re.compile(r"[^ \t\r\n][^\n]*")  # of those that are not blank


def _line(value: dict) -> str:
    return json.dumps(value, separators=(",", ":")) + "\n"


def header_line(document: dict) -> str:
    """The first line, from a document whose vocabulary covers at least the prompt."""
    return _line({name: document[name] for name in HEADER_FIELDS})


def round_line(round_: dict | str, vocabulary: dict) -> str:
    """A round, also one that is JSON already, as one line, with the vocabulary entries that no line before it had."""
    if isinstance(round_, str):
        return f'{{"round":{round_},{_line({"vocabulary": vocabulary})[1:]}'
    return _line({"round": round_, "vocabulary": vocabulary})


def footer_line(document: dict, vocabulary: dict) -> str:
    """The last line; a run that ends before its first round may bring a word here."""
    return _line({name: document[name] for name in FOOTER_FIELDS} | {"vocabulary": vocabulary})


def check_line(check: dict, vocabulary: dict) -> str:
    """What was found after the run; it takes the place of what the footer says of it."""
    return _line({"check": check, "vocabulary": vocabulary})


def later_lines(text: str, start: int) -> Iterator[dict]:
    """The lines after the header, which ends at `start`: rounds, then perhaps the footer and a check. A last line that is
    not whole is left out: the writer was stopped in it. Raises TraceError, and what Python's JSON reader raises."""
    ended = 0  # of the two that end a file, those that were there
    for match in LINE.finditer(text, start):
        if ended == 2:
            raise _of_line(text, match, "follows the check")
        try:
            part = json.loads(match.group())
        except json.JSONDecodeError:
            if match.end() == len(text):
                return
            raise _of_line(text, match, "is not JSON") from None
        words = part.get("vocabulary") if isinstance(part, dict) else None
        kind = next((n for n, fields in enumerate(LATER) if isinstance(words, dict) and part.keys() == {*fields, "vocabulary"}), None)
        if kind is None or (kind == 2 and not ended):  # a check of what?
            raise _of_line(text, match, "is neither a round nor the footer")
        if ended and kind < 2:
            raise _of_line(text, match, "follows the footer")
        ended = kind
        yield part


def _of_line(text: str, match: re.Match, what: str) -> TraceError:
    number = text.count("\n", 0, match.start()) + 1
    return TraceError(f"This is not a sound EAGLE-2 trace: line {number} {what}.")


def broken(text: str, error: json.JSONDecodeError) -> TraceError:
    """What to say of text that is not JSON: perhaps it is the beginning of a trace, and the rest was cut off."""
    if error.msg.startswith("Extra data"):
        return TraceError("This is not an EAGLE-2 trace: text follows the end of the document; keep each run in a file of "
                          "its own.")
    try:
        begun = from_json(text.removesuffix("\ufffd"), allow_partial=True)
    except ValueError:
        begun = None
    if isinstance(begun, dict) and begun.get("format", FORMAT) == FORMAT:
        where = "its rounds" if "rounds" in begun else "its header, before the first round"
        return TraceError(f"This EAGLE-2 trace was cut off inside {where}; copy the file again, or record the run again.")
    return TraceError(f"This is not JSON (line {error.lineno}, column {error.colno}: {error.msg}), so not an EAGLE-2 trace.")
