"""The trace: one document per run, read and written as JSON or as JSON lines, never trusted.

This is the public format (README, "The trace"). Loading checks types and ranges field by field
(`parts.py`), then what the columns say about each other (`rules.py`), so that whoever holds a `Trace` may index
freely. A file of version 1 is read as the version 2 that it would be (`version1.py`). Knows nothing of torch, models
or pages: a recorded run opens on a machine that has none.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator

from ..config import DecodeConfig
from ..policies.policy import brief
from . import version1
from .bytes import read_text
from .lines import FOOTER_FIELDS, FORMAT, LINE, TraceError, broken, footer_line, header_line, later_lines, round_line
from .parts import Check, Output, Pair, Part, Producer, Prompt, Round, Summary, TokenText
from .rules import check_run
from .summary import emitted, finish_cancelled, totals_of

SCHEMA_VERSION = 2
READS = (1, 2)
BEGIN = re.compile("[\ufeff \r\n\t]*")

CREATED = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"


def _moment(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("is no moment of any calendar; give one like 2026-11-30T12:00:00Z") from None
    return text


def _known_config(values: dict) -> dict:
    return DecodeConfig.from_dict(values).to_dict()


class Header(Part):
    """What is known when a run begins: the first of its lines."""

    format: Literal["eagle2-trace"]
    schema_version: Literal[2]
    created: Annotated[str, Field(pattern=CREATED), AfterValidator(_moment)]
    producer: Producer
    pair: Pair
    config: Annotated[dict, AfterValidator(_known_config)]
    prompt: Prompt
    vocabulary: dict[Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,15})$")], TokenText]

    def __repr__(self) -> str:
        total, check = self.summary, {True: "lossless", False: "NOT lossless", None: "not checked"}[self.check.lossless]
        tau = f", tau {total.tau:.2f}" if total.rounds else ""
        return (f"<Trace of {self.pair.name!r:.60}: rounds {total.rounds}, new tokens {total.new_tokens}{tau}, "
                f"ended by {self.output.finish_reason}, {check};\n {self.prompt.text!r:.60} -> "
                f"{self.output.text!r:.60}>")

    __str__ = __repr__

    def token(self, token_id: int) -> TokenText:
        return self.vocabulary[str(token_id)]


class Trace(Header):
    """A whole run. Build one with `TraceBuilder` from events, or `Trace.load` from a file."""

    rounds: list[Round]
    output: Output
    summary: Summary
    check: Check

    @model_validator(mode="after")
    def _rounds_agree(self):
        check_run(self)
        return self

    def to_dict(self) -> dict:
        """The document as plain JSON values."""
        return self.model_dump(mode="json", exclude_none=False)

    @classmethod
    def from_dict(cls, document: object) -> Trace:
        """Validate a parsed document. Raises TraceError with one sentence that names the field."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise TraceError(f'This is not an EAGLE-2 trace: its field "format" should be "{FORMAT}", of which this program '
                             f"reads versions {READS[0]} to {READS[-1]}.")
        if _version(document) == SCHEMA_VERSION:
            return _validated(cls, document)
        if not isinstance(rounds := document.get("rounds"), list):
            return _validated(cls, version1.header(document))  # which says that it should be
        head = {name: value for name, value in document.items() if name not in ("rounds", *FOOTER_FIELDS)}
        later = [{"round": r, "vocabulary": {}} for r in rounds]
        later.append({name: document[name] for name in FOOTER_FIELDS if name in document} | {"vocabulary": {}})
        return cls.from_lines(head, iter(later))

    # -- the two spellings -----------------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """The JSON-lines spelling: a header, a line per round with the words it brings, a footer."""
        header = self.model_dump(mode="json", exclude={"rounds"})
        words = header.pop("vocabulary")
        new = {str(i) for i in self.prompt.token_ids}
        yield header_line(header | {"vocabulary": {i: words.pop(i) for i in [*words] if i in new}})
        for r in self.rounds:
            yield round_line(r.model_dump_json(), {i: words.pop(i) for i in map(str, r.token_ids) if i in words})
        yield footer_line(header, words)

    def to_lines(self) -> str:
        """All the lines as one string."""
        return "".join(self.lines())

    @classmethod
    def from_text(cls, text: str) -> Trace:
        """Either spelling, told apart by what the first line holds. Raises TraceError."""
        if len(text) > 2**20 and 6 * (text.count("[") + text.count("{")) > len(text):  # endless memory for little text
            raise TraceError("This is not an EAGLE-2 trace: it consists of brackets; no trace does.")
        try:
            start = BEGIN.match(text).end()
            if start == len(text):
                raise TraceError("This is not JSON but an empty file, so not an EAGLE-2 trace; record the run again.")
            end = text.find("\n", start) + 1 or len(text)
            try:
                first = json.loads(text[start:end])
            except json.JSONDecodeError:
                return cls.from_dict(json.loads(text[start:]))  # a document spread over lines
            if isinstance(first, dict) and "rounds" not in first and first.get("format") == FORMAT:
                _version(first)
                if lacks := next((name for name in Header.model_fields if name not in first), None):
                    raise TraceError(f"This is not a sound EAGLE-2 trace: its first line has no {lacks}.")
                return cls.from_lines(first, later_lines(text, end))
            if LINE.search(text, end):
                raise TraceError("This is not an EAGLE-2 trace: text follows the end of the document.")
            return cls.from_dict(first)
        except json.JSONDecodeError as error:
            raise broken(text, error) from None
        except RecursionError:
            raise TraceError("This is not an EAGLE-2 trace: its values are nested too deeply.") from None
        except MemoryError:
            raise TraceError("This trace does not fit into the memory; open a shorter one.") from None
        except ValueError as error:
            if isinstance(error, TraceError):
                raise
            raise TraceError("This is not an EAGLE-2 trace: it holds a number of thousands of digits; record the run "
                             "again.") from None  # the one thing that Python's JSON reader refuses besides bad JSON

    @classmethod
    def from_lines(cls, head: dict, later: Iterator[dict]) -> Trace:
        """Line by line, parsed: what is not sound is refused before the next is read. Without a footer, a run was
        cancelled. Raises TraceError."""
        old = _version(head) == 1
        head = version1.header(head) if old else head
        greedy = DecodeConfig.from_dict(_validated(Header, head).config).greedy
        words, rounds, footer = head["vocabulary"], [], None
        for part in later:
            words |= part.pop("vocabulary")
            if "round" in part:
                r = version1.round_(part["round"], greedy) if old else part["round"]
                rounds.append(_validated(Round, r, f"rounds[{len(rounds)}]"))
            elif footer:  # what a comparison found afterwards
                footer |= part
            else:
                footer = version1.footer(part, rounds) if old else part
        head |= {"vocabulary": words}
        if footer is None:
            footer = _cancelled(_validated(Header, head), rounds)
        return _validated(cls, head | {"rounds": rounds} | footer)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Trace:
        """Read `.json`, `.json.gz` or `.jsonl` (told apart by content). Raises TraceError, also for a missing file."""
        with _uncollected():
            return cls.from_text(read_text(path))

    def save(self, path: str | os.PathLike) -> None:
        """Write the spelling that the name asks for (`.jsonl` lines, else one document; `.gz` packs). Raises OSError.

        The file appears whole or not at all: it is written beside its place and moved there.
        """
        path = Path(path)
        name = path.name.lower()
        plain = name.removesuffix(".gz")
        text = self.to_lines() if plain.endswith(".jsonl") else json.dumps(self.to_dict(), separators=(",", ":"))
        data = text.encode()
        if name.endswith(".gz"):
            data = gzip.compress(data, mtime=0)  # the same run gives the same bytes
        part = path.with_name(path.name + ".part")
        try:
            part.write_bytes(data)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


@contextlib.contextmanager
def _uncollected():
    """Without the garbage collector, which would look through millions of new numbers again and again, a third of the
    time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _version(document: dict) -> int:
    version = document.get("schema_version")
    if version not in READS or isinstance(version, bool | float):
        raise TraceError(f"schema_version is {brief(version)}, this program reads versions {READS[0]} to {READS[-1]}: "
                         "record the run again, or use the version of TreeViz that wrote it.")
    return version


def _cancelled(header: Header, rounds: list[Round]) -> dict:
    """The footer of a run whose file ends before it. A file alone does not tell which ids end a sequence."""
    decided = [token for r in rounds for token in r.decided]
    ids = emitted([rounds[0].root, *decided] if rounds else [], header.config)
    try:
        words = {str(i): header.token(i).model_dump() for i in ids}
    except KeyError as error:
        raise TraceError(f"This is not a sound EAGLE-2 trace: its rounds name token {error.args[0]}, which vocabulary "
                         "lacks.") from None
    return finish_cancelled(totals_of(rounds), words, ids)


def _validated(kind: type[Part], values: object, place: str = ""):
    """An instance of `kind`. Raises TraceError: one sentence about the first field that is not sound."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    for step in first["loc"]:
        if step == "[key]":
            continue
        name = step if isinstance(step, str) and len(step) <= 40 and step.isprintable() else brief(step)
        place += f"[{name}]" if isinstance(step, int) else f".{name}" if place else name
    what = first["msg"].removeprefix("Value error, ")
    raise TraceError(f"This is not a sound EAGLE-2 trace: {place + ': ' if place else ''}"
                     f"{what[:1].lower() + what[1:].rstrip('.')}.")
