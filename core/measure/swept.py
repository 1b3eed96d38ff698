"""A sweep's document: which settings of eagle2 suit a pair on a machine, by what was recorded, estimated and run.

It is the state of a sweep that goes on and the result of one that is done (README, "Which settings suit"). No torch.
"""

from __future__ import annotations

import json
import os
import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from ..errors import UserError
from ..pairs.fetch import disk_error
from ..trace.parts import Id, Part, Text
from .cost import Cost
from .grid import Cell, Shape, cells

RESAMPLED = 2000  # times, for an interval
One = Annotated[tuple[Id, Id, Id], Field(strict=False)]
Two = Annotated[tuple[Id, Id], Field(strict=False)]


class Recorded(Part):
    """A prompt that was decoded with the largest tree: its rounds, and of every setting how many drafted tokens they
    would have accepted together, at least and at most."""

    prompt: Id
    rounds: Id
    accepted: list[Two]


class Ran(Part):
    """A run that was timed, its prompt left out; `shape` is null for plain decoding."""

    prompt: Id
    turn: Id
    shape: One | None
    tokens: Annotated[int, Field(ge=1)]
    seconds: Annotated[float, Field(gt=0)]
    rounds: Annotated[int, Field(ge=1)]


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting that was really run: how many times as fast as plain decoding, 95 % of the times that its runs were
    drawn anew, its tokens/s and tokens per round."""

    top_k: int
    depth: int
    total_tokens: int
    speedup: float
    low: float
    high: float
    tokens_per_second: float
    tau: float

    def told(self) -> str:
        return f"top_k {self.top_k}, depth {self.depth}, total_tokens {self.total_tokens}"


class Sweep(Part):
    format: Literal["treeviz-sweep"] = "treeviz-sweep"
    version: Literal[1] = 1
    created: Text
    max_new_tokens: Id
    prompts: list[list[Id]]  # token ids
    shapes: Annotated[list[One], Field(min_length=1)]  # top_k, depth, total_tokens
    cost: Cost
    recorded: list[Recorded]
    ran: list[Ran]

    @property
    def rounds(self) -> int:
        return sum(one.rounds for one in self.recorded)

    def cells(self) -> list[Cell]:
        """Every setting by what-if and the cost curve; [] while no round is recorded."""
        if not self.rounds:
            return []
        both = [tuple(map(sum, zip(*of_all))) for of_all in zip(*(one.accepted for one in self.recorded))]
        return cells([tuple(shape) for shape in self.shapes], both, self.rounds, self.cost)

    def promising(self, count: int) -> list[Shape]:
        """The settings to try: of each top_k and depth the fastest, and of those the fastest `count`. Of two that
        accepted the same with as many layers and nodes, which are one tree, only that with the smaller top_k."""
        best: dict[tuple[int, int], Cell] = {}
        for cell in _fastest(self.cells(), lambda cell: (cell.depth, cell.total_tokens, cell.tau_low)):
            best.setdefault((cell.top_k, cell.depth), cell)
        return [cell.shape for cell in best.values()][:count]

    def tried(self) -> list[Tried]:
        """What was really run in the same turns as plain decoding, the fastest first."""
        found = []
        plain = {(run.prompt, run.turn): run for run in self.ran if run.shape is None}
        for shape in dict.fromkeys(run.shape for run in self.ran if run.shape is not None):
            runs = [run for run in self.ran if run.shape == shape and (run.prompt, run.turn) in plain]
            if runs:
                both = [(run, plain[run.prompt, run.turn]) for run in runs]
                drafted = sum(run.tokens for run in runs) / sum(run.rounds for run in runs)
                found.append(Tried(*shape, _ratio(both), *_interval(both), _speed(runs), drafted))
        return sorted(found, key=lambda tried: -tried.speedup)

    def to_dict(self) -> dict:
        """The document as plain JSON values, and what follows from it: `cells`, `tried`, `best`."""
        tried = [asdict(one) for one in self.tried()]
        return self.model_dump(mode="json") | {"cells": [asdict(cell) for cell in self.cells()], "tried": tried,
                                               "best": tried[0] if tried else None}

    def save(self, path: Path) -> None:
        """Raises FetchError."""
        try:
            part = path.with_name(path.name + ".part")
            part.write_text(json.dumps(self.to_dict(), indent=1), encoding="utf-8")
            os.replace(part, path)
        except OSError as error:
            raise disk_error(error, path) from None

    @classmethod
    def load(cls, path: Path) -> Sweep:
        """Raises UserError."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            return cls.model_validate({name: value for name, value in values.items() if name in cls.model_fields})
        except FileNotFoundError:
            raise UserError(f"There is no {path} to go on with; begin a sweep without --resume, or give its file.") from None
        except (OSError, ValueError, AttributeError):
            raise UserError(f"{path} holds no sweep; give the file of one that was begun, or another name.") from None


def _fastest(found: list[Cell], kind: Callable[[Cell], object]) -> list[Cell]:
    """Of each kind the fastest, of equals the smallest; the fastest first."""
    best: dict[object, Cell] = {}
    for cell in sorted(found, key=lambda cell: (-cell.speedup, cell.shape)):
        best.setdefault(kind(cell), cell)
    return list(best.values())


def _speed(runs: list[Ran]) -> float:
    return sum(run.tokens for run in runs) / sum(run.seconds for run in runs)


def _ratio(both: list[tuple[Ran, Ran]]) -> float:
    ours, plain = zip(*both)
    return _speed(ours) / _speed(plain)


def _interval(both: list[tuple[Ran, Ran]]) -> tuple[float, float]:
    """The middle 95 % of the ratio over pairs drawn with replacement (a percentile bootstrap), always the same ones."""
    chance = random.Random(0)
    drawn = [_ratio(chance.choices(both, k=len(both))) for _ in range(RESAMPLED)]
    cuts = statistics.quantiles(drawn, n=40, method="inclusive")
    return cuts[0], cuts[-1]


def sweep_lines(sweep: Sweep, colour: bool = False) -> Iterator[str]:
    """Heat maps of the estimated speed-up and tau, each at the best top_k; what was really run; the best of all."""
    found = sweep.cells()
    if not found:
        yield "Nothing is known yet: no round was recorded."
        return
    yield (f"Estimated from {sweep.rounds} recorded rounds and the cost curve, by depth and total_tokens, at the best "
           f"top_k of {', '.join(map(str, sorted({cell.top_k for cell in found})))}")
    shown = _fastest(found, lambda cell: (cell.depth, cell.total_tokens))
    yield from _map("times plain decoding", shown, "speedup", colour)
    yield from _map("tau", shown, "tau_low", False)
    tried = sweep.tried()
    estimate = {cell.shape: cell for cell in found}
    if tried:
        yield "Really run, in turns with plain decoding (95 % of what its runs give when drawn anew):"
    for one in tried:
        cell = estimate[one.top_k, one.depth, one.total_tokens]
        yield (f"  {one.told()}: {one.speedup:.2f} x plain ({one.low:.2f} to {one.high:.2f}), "
               f"{one.tokens_per_second:.1f} tokens/s, tau {one.tau:.2f}; estimated {cell.speedup:.2f} x, "
               f"tau {cell.tau_low:.2f}")
    if tried:
        yield _best_sentence(tried[0])


def _best_sentence(best: Tried) -> str:
    how = f"{best.speedup:.2f} x plain decoding ({best.low:.2f} to {best.high:.2f})"
    if best.low > 1:
        return f"Best: {best.told()}, {how}."
    if best.high < 1:
        return f"No setting pays here: the best, {best.told()}, is {how}; plain decoding is faster."
    return f"Best: {best.told()}, {how}; whether it pays at all is within the noise, measure more turns."


def _map(title: str, found: list[Cell], field: str, colour: bool) -> Iterator[str]:
    totals = sorted({cell.total_tokens for cell in found})
    there = {(cell.depth, cell.total_tokens): getattr(cell, field) for cell in found}
    yield title
    yield "depth " + "".join(f"{n:6}" for n in totals)
    for depth in sorted({cell.depth for cell in found}):
        row = [there.get((depth, n)) for n in totals]
        yield f"{depth:5} " + "".join(" " * 6 if x is None else _shade(x, colour) for x in row)


def _shade(value: float, colour: bool) -> str:
    """A number in six columns; where there are colours on green above 1, on red below, the deeper the further."""
    if not colour:
        return f"{value:6.2f}"
    step = min(4, int(abs(value - 1) * 8))
    r, g = (0, 1 + step) if value >= 1 else (1 + step, 0)
    return f"\x1b[48;5;{16 + 36 * r + 6 * g}m\x1b[97m{value:6.2f}\x1b[0m"
