"""Does the head know what it knows? How often the target said what a candidate promised, by its path probability.

EAGLE-2's reason for a dynamic tree (section 3): the head's confidence tells how likely its guesses are accepted.
Reads traces only; no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..trace.document import Trace
from .wanted import path_of, wanted

Z = 1.959963984540054  # of 95 %


@dataclass(frozen=True, slots=True)
class Bin:
    """Candidates whose path probability, exp(score), is from `low` to below `high` (the last: up to 1). `promised` is
    the mean of it (0 of none), `said` how many of them the target said with all that leads to them, kept or not."""

    low: float
    high: float
    count: int
    said: int
    promised: float

    @property
    def share(self) -> float | None:
        """None of no candidates."""
        return self.said / self.count if self.count else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Of the share, 95 % (`wilson`). Candidates of a round are not independent: of few rounds it is too narrow."""
        return wilson(self.said, self.count) if self.count else None


def calibration(traces: Iterable[Trace], bins: int = 10) -> list[Bin]:
    """Over all candidates of one run or of several, kept or pruned; those that go on behind the end of a run's text are
    left out, for nobody knows what was wanted there."""
    found = [_promises(r, tokens) for trace in traces for r, tokens in zip(trace.rounds, wanted(trace))]
    p, said = (np.concatenate([np.zeros(0), *columns]) for columns in (zip(*found) if found else ((), ())))
    place = np.minimum((p * bins).astype(int), bins - 1)
    count, hits, promised = (np.bincount(place, weights, bins) for weights in (None, said, p))
    mean = promised / np.maximum(count, 1)
    return [Bin(i / bins, (i + 1) / bins, int(count[i]), int(hits[i]), float(mean[i])) for i in range(bins)]


def _promises(r, tokens: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Of a round's candidates whose fate is known: path probabilities, and which were said."""
    path, count = path_of(r, tokens), len(r.candidates.parent)
    said, open_ = np.zeros(count), np.zeros(count + 1, bool)
    said[np.array(path, int) - 1] = 1
    if len(path) == len(tokens):  # what comes after its last node was not written
        open_[path[-1]] = True
        for i, parent in enumerate(r.candidates.parent, start=1):
            open_[i] |= open_[parent]
        open_[path[-1]] = False
    known = ~open_[1:]
    return np.exp(r.candidates.score)[known], said[known]


def wilson(hits: int, count: int, z: float = Z) -> tuple[float, float]:
    """Wilson's score interval of a share, hits of count > 0 (E. B. Wilson, JASA 22, 1927)."""
    share, more = hits / count, z * z / count
    middle = (share + more / 2) / (1 + more)
    half = z / (1 + more) * math.sqrt(share * (1 - share) / count + more / (4 * count))
    return max(0.0, middle - half), min(1.0, middle + half)
