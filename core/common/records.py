"""Files of text that people keep for models: plain text, JSON lines, one JSON array. Knows neither what a record means
nor what it is read for."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from ..errors import UserError

MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def read_text(path: str | Path, what: str) -> str:
    """A file as text, or standard input where `path` is "-": UTF-8, or what its byte-order mark says; its line ends stay as
    they are. `what` names it in the sentence of the UserError that is raised where it cannot be read."""
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
        return data.decode(next((kind for mark, kind in MARKS.items() if data.startswith(mark)), "utf-8"))
    except (OSError, ValueError) as error:
        place = "on standard input" if str(path) == "-" else path
        raise UserError(f"{what} {place} cannot be read as UTF-8 text ({getattr(error, 'strerror', None) or error}); give a "
                        "text file.") from None


def records(path: str | Path, what: str) -> Iterator[tuple[str, object]]:
    """The values of a file of JSON lines or of one JSON array, each with the place it stands at, for a sentence. Lines end
    at line feeds only: a string may hold any other of Unicode's line ends. Raises UserError."""
    text = read_text(path, what)
    if text.lstrip().startswith("["):
        try:
            return iter([(f"{path}, entry {number}", value) for number, value in enumerate(_parsed(text, path), start=1)])
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":  # several lines, each of them an array
                raise UserError(f"{path} is no JSON array (line {error.lineno}, column {error.colno}: {error.msg}); give JSON "
                                "lines or one array.") from None
    return _lines(text, path)


def _lines(text: str, path) -> Iterator[tuple[str, object]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                yield where, _parsed(line, where)
            except json.JSONDecodeError as error:
                raise UserError(f"{where} is not JSON (column {error.colno}: {error.msg}); give JSON lines or one array.") from None


def _parsed(text: str, where) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError):  # a number of thousands of digits
        raise UserError(f"{where} holds JSON that is nested too deeply or a number that is too long; leave it out.") from None


def is_text(value: object) -> bool:
    """A string that can be encoded: JSON may hold half a surrogate pair, which is no text."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)
