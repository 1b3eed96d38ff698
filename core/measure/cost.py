"""What a pass costs by its rows, for a pair on a machine: the document, where it is kept, and what a round costs by it.

Measured by `timing.py`, kept as JSON in the cache folder (README, "What a pass costs"). Knows nothing of torch, so that
a page of recorded runs may read it.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..pairs.fetch import cache_dir, disk_error
from ..trace.document import Trace
from ..trace.parts import Id, Part, Seconds, Text
from ..trace.show import counted

FORMAT = "treeviz-cost"
Rows = Annotated[int, Field(ge=1)]


class Curve(Part):
    """Columns: rows of a pass, ascending, and its seconds: the median of all turns, and the quartiles around it."""

    rows: Annotated[list[Rows], Field(min_length=1)]
    seconds: list[Seconds]
    low: list[Seconds]
    high: list[Seconds]

    @model_validator(mode="after")
    def _columns_agree(self):
        if not len(self.rows) == len(self.seconds) == len(self.low) == len(self.high):
            raise ValueError("columns of different lengths")
        if self.rows != sorted(set(self.rows)):
            raise ValueError("rows that do not ascend")
        return self

    def at(self, rows: float) -> float:
        """Seconds of a pass of so many rows: on the line between the two measured around it, or the last two."""
        x, y = self.rows, self.seconds
        if len(x) == 1 or rows <= x[0]:
            return y[0]
        right = next((i for i, measured in enumerate(x) if measured >= rows), len(x) - 1)
        left = right - 1
        return y[left] + (y[right] - y[left]) * (rows - x[left]) / (x[right] - x[left])


class Cost(Part):
    """What passes cost: `verify` one of the target over so many rows, its choice among the tokens with it, behind
    `cache_length` committed tokens; `head` one of the head, the children of its rows with it; `rest` what else a round
    of so many rows takes: the tree, the acceptance, the cache."""

    format: Literal["treeviz-cost"] = FORMAT
    version: Literal[1] = 1
    created: Text
    pair: Text
    machine: Text
    device: Text
    dtype: Text
    threads: Id
    torch: Text
    cache_length: Id
    draft_vocab: Id
    turns: Id
    verify: Curve
    head: Curve
    rest: Curve

    def a_round(self, top_k: int, depth: int, total_tokens: int) -> float:
        """Seconds of a round of eagle2: the head reads the root, then depth times the beam."""
        rows = total_tokens + 1
        return self.head.at(1) + depth * self.head.at(top_k) + self.verify.at(rows) + self.rest.at(rows)

    @property
    def plain(self) -> float:
        """Seconds of a token of plain decoding."""
        return self.verify.at(1) + self.rest.at(1)

    def worth(self, rows: int) -> float:
        """How many passes over one row a pass over so many rows costs."""
        return self.verify.at(rows) / self.verify.at(1)


def machine() -> str:
    """The processor of this machine and how many of them, in words."""
    name = platform.processor() or platform.machine()
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        name = found[1].strip() if found else name
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} processors"


def folder() -> Path:
    return cache_dir() / "cost"


def save_cost(cost: Cost) -> Path:
    """Keep it where `load_cost` finds it, in the place of an older one of the same kind. Raises FetchError."""
    name = f"{cost.pair} {cost.device} {cost.dtype} {cost.threads} {cost.draft_vocab or ''}".strip()
    path = folder() / (re.sub(r"[^\w.]+", "-", name) + ".json")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(cost.model_dump_json(indent=1), encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise disk_error(error, path.parent) from None
    return path


def load_cost(pair: str, **wanted) -> Cost | None:
    """The newest that was measured for a pair of that name on this machine, with these values of its fields
    (device="cpu", draft_vocab=0), or None. A file that is no such document is passed over."""
    found, here = [], machine()
    for path in sorted(folder().glob("*.json")):
        try:
            cost = Cost.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # pydantic's are ValueErrors too
            continue
        fits = cost.pair == pair and cost.machine.startswith(here)  # a GPU's name may stand behind it
        if fits and all(getattr(cost, name) == value for name, value in wanted.items()):
            found.append(cost)
    return max(found, key=lambda cost: cost.created, default=None)


def cost_of(trace: Trace) -> Cost | None:
    """What the passes of a run cost by its own clock: a row by the plain decoding that it was checked with, its trees
    by their own seconds, a line between. None where it was not checked, drafts nothing or is too short."""
    plain, rounds = plain_pass(trace), [r for r in trace.rounds if len(r.tree.candidate) > 1]
    if plain is None or not rounds:
        return None

    def mean(*parts: str) -> float:
        return sum(getattr(r.seconds, part) for r in rounds for part in parts) / len(rounds)

    def line(rows: list[int], seconds: list[float]) -> Curve:
        return Curve(rows=rows, seconds=seconds, low=seconds, high=seconds)

    rows = [1, max(len(r.tree.candidate) for r in rounds)]
    passes = sum(layer.passes for r in rounds for layer in r.layers) / len(rounds)
    return Cost(created=trace.created, pair=trace.pair.name, machine="the one that recorded the run",
                device=trace.pair.device, dtype=trace.pair.dtype, threads=0, torch=trace.producer.torch,
                cache_length=rounds[-1].cache.length_before, draft_vocab=trace.config.get("draft_vocab", 0), turns=1,
                verify=line(rows, [plain, mean("verify")]), head=line([1], [mean("draft") / passes]),
                rest=line(rows, [0.0, mean("tree", "accept", "commit")]))


def plain_pass(trace: Trace) -> float | None:
    """Seconds of a token of plain decoding by the check of a run, its prompt left out; None without a check."""
    clock = trace.check.clock
    return (clock[-1] - clock[0]) / (len(clock) - 1) or None if len(clock) > 1 else None


def cost_lines(cost: Cost) -> Iterator[str]:
    """The curve as a small table, and what it says in a sentence."""
    yield (f"{cost.pair}, {cost.dtype} on {cost.device} ({counted(cost.threads, 'thread')}), behind "
           f"{counted(cost.cache_length, 'token')}; {cost.machine}; medians of {counted(cost.turns, 'turn')}")
    yield "rows   target, ms (quartiles)   x one row   head pass, ms   the rest, ms"
    for i, rows in enumerate(cost.verify.rows):
        low, high = cost.verify.low[i], cost.verify.high[i]
        head = f"{1e3 * cost.head.at(rows):13.2f}" if rows <= cost.head.rows[-1] else " " * 13
        yield (f"{rows:4}  {1e3 * cost.verify.seconds[i]:8.2f} ({1e3 * low:.2f} to {1e3 * high:.2f})".ljust(32)
               + f"{cost.worth(rows):8.2f}   {head}   {1e3 * cost.rest.at(rows):12.2f}")
    yield worth_sentence(cost, min(60, cost.verify.rows[-1]))


def worth_sentence(cost: Cost, rows: int) -> str:
    return (f"A pass over {rows} rows costs {cost.worth(rows):.1f} rows' worth: {1e3 * cost.verify.at(rows):.1f} ms, "
            f"one row {1e3 * cost.verify.at(1):.1f} ms.")
