"""The trace: one document per run, read and written as JSON or as JSON lines, never trusted.

This is the public format (README, "The trace"). Loading checks types and ranges field by field
(`trace_parts.py`), then what the columns say about each other (`trace_rules.py`), so that whoever holds a
`Trace` may index freely. Knows nothing of torch, models or pages: a recorded run opens on a machine that has none.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator

from .config import DecodeConfig
from .trace_lines import FORMAT, TraceError, join_lines, split_lines
from .trace_parts import Check, Output, Pair, Part, Producer, Prompt, Round, Summary, TokenText
from .trace_rules import check_run

SCHEMA_VERSION = 1
MAX_BYTES = 256 * 2**20  # of unpacked text; a longer "trace" is a mistake or an attack

CREATED = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"


def _moment(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("is no moment of any calendar; give one like 2026-11-30T12:00:00Z") from None
    return text


def _known_config(values: dict) -> dict:
    return DecodeConfig.from_dict(values).to_dict()


class Trace(Part):
    """A whole run. Build one with `TraceBuilder` from events, or `Trace.load` from a file."""

    format: Literal["eagle2-trace"]
    schema_version: Literal[1]
    created: Annotated[str, Field(pattern=CREATED), AfterValidator(_moment)]
    producer: Producer
    pair: Pair
    config: Annotated[dict, AfterValidator(_known_config)]
    prompt: Prompt
    vocabulary: dict[Annotated[str, Field(pattern=r"^(0|[1-9][0-9]*)$")], TokenText]
    rounds: list[Round]
    output: Output
    summary: Summary
    check: Check

    @model_validator(mode="after")
    def _rounds_agree(self):
        check_run(self)
        return self

    def token(self, token_id: int) -> TokenText:
        return self.vocabulary[str(token_id)]

    def to_dict(self) -> dict:
        """The document as plain JSON values."""
        return self.model_dump(mode="json", exclude_none=False)

    @classmethod
    def from_dict(cls, document: object) -> Trace:
        """Validate a parsed document. Raises TraceError with one sentence that names the field."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise TraceError(f'This is not an EAGLE-2 trace: its field "format" should be "{FORMAT}".')
        _check_version(document)
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise TraceError(_sentence(error)) from None

    # -- the two spellings -----------------------------------------------------------------------------------------

    def to_lines(self) -> str:
        """The JSON-lines spelling: a header, a line per round with the words it brings, a footer."""
        return "".join(split_lines(self.to_dict()))

    @classmethod
    def from_text(cls, text: str) -> Trace:
        """Either spelling, told apart by what the first line holds. Raises TraceError."""
        try:
            first, _, rest = text.lstrip("\ufeff \r\n\t").partition("\n")
            try:
                head = json.loads(first)
            except json.JSONDecodeError:
                return cls.from_dict(json.loads(text))  # a document spread over lines
            if isinstance(head, dict) and "rounds" not in head and head.get("format") == FORMAT:
                _check_version(head)
                return cls.from_dict(join_lines(head, rest))
            if rest.strip():
                raise TraceError("This is not an EAGLE-2 trace: text follows the end of the document.")
            return cls.from_dict(head)
        except json.JSONDecodeError as error:
            raise TraceError(f"This is not JSON (line {error.lineno}, column {error.colno}: {error.msg}), "
                             "so not an EAGLE-2 trace.") from None
        except RecursionError:
            raise TraceError("This is not an EAGLE-2 trace: its values are nested too deeply.") from None
        except ValueError as error:
            if isinstance(error, TraceError):
                raise
            raise TraceError("This is not an EAGLE-2 trace: it holds a number of thousands of digits; record the run "
                             "again.") from None  # the one thing that Python's JSON reader refuses besides bad JSON

    @classmethod
    def load(cls, path: str | os.PathLike) -> Trace:
        """Read `.json`, `.json.gz` or `.jsonl` (told apart by content). Raises TraceError, also for a missing file."""
        try:
            with open(path, "rb") as file:
                raw = file.read(MAX_BYTES + 1)
            if raw[:2] == b"\x1f\x8b":
                unpacker = zlib.decompressobj(wbits=31)
                raw = unpacker.decompress(raw, MAX_BYTES + 1)
                if len(raw) <= MAX_BYTES and not unpacker.eof:
                    raise TraceError(f"{path} is cut short: its gzip stream does not end; copy the file again.")
            if len(raw) > MAX_BYTES:
                raise TraceError(f"{path} holds more than {MAX_BYTES // 2**20} MiB; no trace is that long.")
            return cls.from_text(raw.decode("utf-8"))
        except OSError as error:
            raise TraceError(f"Cannot read {path}: {error.strerror or error}.") from None
        except zlib.error as error:
            raise TraceError(f"{path} is not a readable gzip file ({error}); copy it again.") from None
        except UnicodeDecodeError:
            raise TraceError(f"{path} is not UTF-8 text, so not an EAGLE-2 trace.") from None

    def save(self, path: str | os.PathLike) -> None:
        """Write the spelling that the name asks for (`.jsonl` lines, else one document; `.gz` packs). Raises OSError.

        The file appears whole or not at all: it is written beside its place and moved there.
        """
        path = Path(path)
        plain = path.name.removesuffix(".gz")
        text = self.to_lines() if plain.endswith(".jsonl") else json.dumps(self.to_dict(), separators=(",", ":"))
        data = text.encode()
        if path.name.endswith(".gz"):
            data = gzip.compress(data, mtime=0)  # the same run gives the same bytes
        part = path.with_name(path.name + ".part")
        try:
            part.write_bytes(data)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)


def _check_version(document: dict) -> None:
    version = document.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise TraceError(f"schema_version is {version!r}, this program reads version {SCHEMA_VERSION}: "
                         "record the run again, or use the version of TreeViz that wrote it.")


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ""
    for step in first["loc"]:
        if step == "[key]":
            continue
        where += f"[{step}]" if isinstance(step, int) else f".{step}" if where else str(step)
    what = first["msg"].removeprefix("Value error, ")
    return f"This is not a sound EAGLE-2 trace: {where + ': ' if where else ''}{what[:1].lower() + what[1:].rstrip('.')}."
