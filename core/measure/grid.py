"""Many settings of eagle2 at once: what recorded runs would have brought with each, and what a round of it costs.

Knows traces by what-if and passes by their cost curve; decodes nothing, no torch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..policies.eagle2 import candidate_count
from .cost import Cost
from .whatif import WhatIf

Shape = tuple[int, int, int]  # top_k, depth, total_tokens


@dataclass(frozen=True, slots=True)
class Cell:
    """A setting: tokens per round, at least and at most, over the recorded starts; seconds of a round by the cost
    curve; and how many times as fast as plain decoding that is, by the least."""

    top_k: int
    depth: int
    total_tokens: int
    tau_low: float
    tau_high: float
    seconds: float
    speedup: float

    @property
    def shape(self) -> Shape:
        return self.top_k, self.depth, self.total_tokens

    def told(self) -> str:
        return f"top_k {self.top_k}, depth {self.depth}, total_tokens {self.total_tokens}"


def grid(top_k: Iterable[int], depth: Iterable[int], total_tokens: Iterable[int]) -> list[Shape]:
    """Every setting of these values for which there are enough candidates."""
    totals = sorted(set(total_tokens))
    return [(k, d, n) for k in sorted(set(top_k)) for d in sorted(set(depth)) for n in totals
            if n <= candidate_count(k, d)]


def sums(what: WhatIf, shapes: list[Shape]) -> list[tuple[int, int]]:
    """Of every setting how many drafted tokens the run's rounds would have accepted together, at least and at most."""
    return [tuple(map(sum, zip(*(outlook.accepted(n) for outlook in what.outlooks(k, d))))) for k, d, n in shapes]


def cells(shapes: list[Shape], accepted: list[tuple[int, int]], rounds: int, cost: Cost) -> list[Cell]:
    """The settings with what they are worth. accepted: as `sums`, over so many rounds."""
    found = []
    for shape, (low, high) in zip(shapes, accepted):
        seconds, tau = cost.a_round(*shape), 1 + low / rounds
        found.append(Cell(*shape, tau, 1 + high / rounds, seconds, tau * cost.plain / seconds))
    return found


def everything_below(what: WhatIf) -> list[Shape]:
    """Settings within what a run recorded, the smaller ones closely."""
    totals = {n for n in (*range(1, 17), *range(18, 33, 2), *range(36, 65, 4)) if n <= what.total_tokens}
    widths = range(1, what.top_k + 1) if what.top_k <= 16 else {1, 2, 3, 4, 6, 8, 10, 12, 16, what.top_k}
    return grid(widths, range(what.depth + 1), totals | {what.total_tokens})
