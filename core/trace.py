"""The trace: one document per run, read and written as JSON or as JSON lines, never trusted.

The models below are the public format (README, "The trace"). Loading checks types and ranges field by
field, then what the columns say about each other, so that whoever holds a `Trace` may index freely.
Knows nothing of torch, models or pages: a recorded run opens on a machine that has none of them.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from .config import DecodeConfig
from .errors import UserError
from .summary import finish_cancelled
from .trace_rules import check_round, check_run

FORMAT = "eagle2-trace"
SCHEMA_VERSION = 1
MAX_BYTES = 256 * 2**20  # of unpacked text; a longer "trace" is a mistake or an attack

Id = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1 + 1e-6)]
IdAndProbability = Annotated[tuple[Id, Probability], Field(strict=False)]  # JSON has no tuples
Hex = Annotated[str, Field(pattern=r"^([0-9a-f]{2})+$")]


def _known_config(values: dict) -> dict:
    return DecodeConfig.from_dict(values).to_dict()


class TraceError(UserError):
    """Not a trace we can read; the message is one sentence that names the field."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Producer(_Part):
    name: str
    version: str
    torch: str
    transformers: str


class Pair(_Part):
    name: str
    target: str
    draft: str
    device: str
    dtype: str
    vocab_size: Annotated[int, Field(ge=1)]
    hidden_size: Annotated[int, Field(ge=1)]
    num_hidden_layers: Annotated[int, Field(ge=1)]


class Prompt(_Part):
    text: str
    token_ids: Annotated[list[Id], Field(min_length=1)]


class TokenText(_Part):
    """What a token id says. `bytes` (hex) is there only for a token that is not whole characters by itself."""

    text: str
    special: bool
    bytes: Hex | None = None


class Candidates(_Part):
    """Columns over all candidates of a round, in creation order: candidate id = position + 1, parent 0 = root."""

    token: list[Id]
    parent: list[Id]
    layer: list[Id]
    log_prob: list[Annotated[float, Field(le=0)]]
    score: list[Annotated[float, Field(le=0)]]


class Layer(_Part):
    """One forward of the head: the candidate ids it was fed (0 = root) and the ones that go on."""

    expanded: list[Id]
    selected: list[Id]


class Tree(_Part):
    """Columns over the flattened tree, root first. A mask row holds its bits in column order, packed into bytes."""

    candidate: list[Id]
    parent: list[Annotated[int, Field(ge=-1)]]
    depth: list[Id]
    position_ids: list[Id]
    mask: list[Hex]
    retrieve_indices: list[list[Annotated[int, Field(ge=-1)]]]
    cutoff: Annotated[float, Field(le=0)]


class TargetView(_Part):
    """What the target said at every row; token_prob is its probability of the row's token, seen from the parent."""

    argmax: list[Id]
    token_prob: list[Probability]
    top: list[Annotated[list[IdAndProbability], Field(max_length=5)]]


class Test(_Part):
    """One draw of the sampling rule: accepted iff r < p, p being what is left after the siblings before it."""

    node: Id
    p: Probability
    r: Annotated[float, Field(ge=0, lt=1)]
    accepted: bool


class Accept(_Part):
    """The accepted path as flat rows, root first; `bonus` is the target's own token after `bonus_from`."""

    row: Id
    path: Annotated[list[Id], Field(min_length=1)]
    length: Id
    tests: list[Test]
    bonus: Id
    bonus_from: Id


class CacheCommit(_Part):
    """The flat rows whose keys and values stay, and the target's cache length around the round."""

    kept: list[Id]
    length_before: Id
    length_after: Id


class RoundSeconds(_Part):
    draft: Seconds
    tree: Seconds
    verify: Seconds
    accept: Seconds
    commit: Seconds


class Round(_Part):
    index: Id
    prefix_length: Annotated[int, Field(ge=1)]
    root: Id
    candidates: Candidates
    layers: list[Layer]
    tree: Tree
    target: TargetView
    accept: Accept
    cache: CacheCommit
    seconds: RoundSeconds

    @model_validator(mode="after")
    def _columns_agree(self):
        check_round(self)
        return self

    @property
    def tokens(self) -> list[int]:
        """The flat tree's token ids, root first."""
        return [self.root] + [self.candidates.token[c - 1] for c in self.tree.candidate[1:]]

    @property
    def committed(self) -> list[int]:
        """The token ids this round commits: the root and the accepted drafted tokens."""
        tokens = self.tokens
        return [tokens[row] for row in self.accept.path]

    def mask_row(self, row: int) -> list[bool]:
        """Row `row` of the tree mask as booleans, one for each row of the tree."""
        bits = bytes.fromhex(self.tree.mask[row])
        return [bool(bits[j // 8] >> (7 - j % 8) & 1) for j in range(len(self.tree.mask))]


FinishReason = Literal["eos", "stop", "length", "context", "cancelled"]


class Output(_Part):
    token_ids: list[Id]
    text: str
    finish_reason: FinishReason


class Summary(_Part):
    """tau is tokens per round: the mean of accepted length + 1. accepted_by_depth[i] counts rounds that accepted
    at least i + 1 drafted tokens. Seconds are sums over the run; prefill is absent where it was not measured."""

    rounds: Id
    new_tokens: Id
    tau: Annotated[float, Field(ge=0)]
    accepted_by_depth: list[Id]
    seconds: dict[Literal["prefill", "draft", "tree", "verify", "accept", "commit"], Seconds]
    target_forwards: Id
    head_forwards: Id


class Check(_Part):
    """Comparison with plain decoding of the same target; lossless is null where none was made."""

    lossless: bool | None
    first_difference: Id | None
    note: str


class Trace(_Part):
    """A whole run. Build one with `TraceBuilder` from events, or `Trace.load` from a file."""

    format: Literal["eagle2-trace"]
    schema_version: Literal[1]
    created: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")]
    producer: Producer
    pair: Pair
    config: Annotated[dict, AfterValidator(_known_config)]
    prompt: Prompt
    vocabulary: dict[Annotated[str, Field(pattern=r"^(0|[1-9]\d*)$")], TokenText]
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
        version = document.get("schema_version")
        if version != SCHEMA_VERSION or isinstance(version, bool):
            raise TraceError(f"schema_version is {version!r}, this program reads version {SCHEMA_VERSION}: "
                             "record the run again, or use the version of TreeViz that wrote it.")
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise TraceError(_sentence(error)) from None

    # -- the two spellings -----------------------------------------------------------------------------------------

    def to_lines(self) -> str:
        """The JSON-lines spelling: a header, a line per round with the words it brings, a footer."""
        return "".join(_line_parts(self.to_dict()))

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
                return cls.from_dict(_join_lines(head, rest))
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
            raise TraceError(f"This is not an EAGLE-2 trace: {error}.") from None  # e.g. a number of 10,000 digits

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


def _sentence(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ""
    for step in first["loc"]:
        if step == "[key]":
            continue
        where += f"[{step}]" if isinstance(step, int) else f".{step}" if where else str(step)
    what = first["msg"].removeprefix("Value error, ")
    return f"This is not a sound EAGLE-2 trace: {where + ': ' if where else ''}{what[:1].lower() + what[1:]}."


# -- JSON lines: what a live run appends, and what the page reads as it grows ----------------------------------------

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


def footer_line(document: dict) -> str:
    return _line({name: document[name] for name in FOOTER_FIELDS})


def _line_parts(document: dict):
    words = document["vocabulary"]
    seen = {str(i) for i in document["prompt"]["token_ids"]}
    yield header_line(document | {"vocabulary": {i: words[i] for i in words if i in seen}})
    for round_ in document["rounds"]:
        new = {str(i): words[str(i)] for i in round_ids(round_) if str(i) not in seen}
        seen |= set(new)
        yield round_line(round_, new)
    yield footer_line(document)


def round_ids(round_: dict) -> dict[int, None]:
    """Every token id that a round (as plain JSON values) mentions, in order of appearance."""
    target = round_["target"]
    tops = (i for row in target["top"] for i, _ in row)
    return dict.fromkeys([round_["root"], *round_["candidates"]["token"], *target["argmax"], *tops,
                          round_["accept"]["bonus"]])


def _join_lines(head: dict, rest: str) -> dict:
    """The document that the lines spell. A run that was cut off (no footer) counts as cancelled."""
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
        elif isinstance(part, dict) and set(part) == set(FOOTER_FIELDS):
            document.update(part)
        else:
            raise TraceError(f"This is not a sound EAGLE-2 trace: line {number} is neither a round nor the footer.")
    if "output" not in document:
        document.update(finish_cancelled(document))
    return document
