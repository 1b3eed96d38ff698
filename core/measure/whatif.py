"""What if a run of eagle2 had drafted another tree? Which candidates would have been kept, and how far the target would
have gone along them, from the recorded candidates and the run's own text: no model, no torch.

A smaller `depth` and any `total_tokens` are exact: the layers are the recorded ones, and the re-rank is by the recorded
scores. So is a smaller `top_k` while its beam takes what the recorded one took. Where it would have fed a candidate
that the recorded run did not feed, the children of that one are not known: ghosts. Of a ghost only this is known: it
scores at most its parent's score, the j-th likeliest of a family at most that minus log j. Then a round's answer is a
bound from both sides, `low` what every possible tree accepts and `high` what none exceeds.

The same bounds hold where the text ends: what the target would have wanted after it is not known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..config import DecodeConfig
from ..errors import UserError
from ..policies.eagle2 import candidate_count
from ..trace.document import Trace
from ..trace.parts import Round
from .wanted import path_of, wanted

NEVER = 2**53  # a total_tokens with which nothing more is kept


@dataclass(frozen=True, slots=True)
class Estimate:
    """What every recorded round would have accepted, at least and at most, and tokens per round over these starts. The
    run itself would have started other rounds: tau is an estimate for it."""

    low: list[int]
    high: list[int]

    @property
    def exact(self) -> bool:
        return self.low == self.high

    @property
    def tau(self) -> tuple[float, float]:
        """Mean accepted length + 1: at least, at most."""
        return 1 + sum(self.low) / len(self.low), 1 + sum(self.high) / len(self.high)


@dataclass(frozen=True, slots=True)
class Outlook:
    """A round under another top_k and depth, for every total_tokens.

    path     ids of the candidates that carry the target's own tokens, as far as they may be scored
    maybe    of each: from which total_tokens on it may be kept
    surely   of each: from which on it is kept in any case; the same number where nothing is unknown
    deepest  drafted tokens that may be accepted where what follows the path is not known; else the path's length
    ghosts   ids of the candidates that would or might have been fed, and were not
    """

    path: list[int]
    maybe: list[int]
    surely: list[int]
    deepest: int
    ghosts: list[int]
    _needs: tuple[np.ndarray, np.ndarray]  # of every candidate, as maybe and surely of the path

    def accepted(self, total_tokens: int) -> tuple[int, int]:
        """Accepted length with so many nodes kept: at least, at most."""
        low = sum(need <= total_tokens for need in self.surely)  # a child's need is above its parent's
        high = sum(need <= total_tokens for need in self.maybe)
        if high == len(self.path):  # a node further down takes one more of the nodes kept
            high = min(self.deepest, high + total_tokens - (self.maybe[-1] if self.maybe else 0))
        return low, high

    def kept(self, total_tokens: int) -> tuple[list[int], list[int]]:
        """Candidate ids, ascending: those that are kept in any case, and those that are or ghosts in their place."""
        maybe, surely = self._needs
        sure = surely <= total_tokens
        return _ids(sure), _ids((maybe <= total_tokens) & ~sure)


class WhatIf:
    """A recorded greedy run of eagle2, ready to be asked. Raises UserError for any other run."""

    def __init__(self, trace: Trace):
        config = DecodeConfig.from_dict(trace.config)
        if config.policy != "eagle2" or not config.greedy or not trace.rounds:
            raise UserError(f"This run is of {config.policy} at temperature {config.temperature:g} and has "
                            f"{len(trace.rounds)} rounds; what-if reads greedy runs of eagle2 with one round or more.")
        self.top_k, self.depth, self.total_tokens = config.top_k, config.depth, config.total_tokens
        self._rounds = [_Columns(r, tokens) for r, tokens in zip(trace.rounds, wanted(trace))]
        self._outlooks: dict[tuple[int, int], list[Outlook]] = {}

    def outlooks(self, top_k: int | None = None, depth: int | None = None) -> list[Outlook]:
        """Every round under a top_k and a depth that are not above the recorded ones. Raises UserError."""
        shape = self.top_k if top_k is None else top_k, self.depth if depth is None else depth
        if not (1 <= shape[0] <= self.top_k and 0 <= shape[1] <= self.depth):
            raise UserError(f"top_k {shape[0]} and depth {shape[1]} are not within what was recorded; give top_k from "
                            f"1 to {self.top_k} and depth from 0 to {self.depth}.")
        if shape not in self._outlooks:
            self._outlooks[shape] = [columns.outlook(*shape) for columns in self._rounds]
        return self._outlooks[shape]

    def at(self, top_k: int | None = None, depth: int | None = None, total_tokens: int | None = None) -> Estimate:
        """The recorded settings with these changed. total_tokens may be above the recorded one; where there are fewer
        candidates all are kept. Raises UserError."""
        total = self.total_tokens if total_tokens is None else total_tokens
        if total < 1:
            raise UserError(f"total_tokens is {total}; give 1 or more.")
        both = [outlook.accepted(total) for outlook in self.outlooks(top_k, depth)]
        return Estimate([low for low, _ in both], [high for _, high in both])

    def curve(self, top_k: int | None = None, depth: int | None = None) -> list[tuple[float, float]]:
        """tau, at least and at most, with 1, 2, ... nodes kept, to all the candidates there are."""
        most = candidate_count(self.top_k if top_k is None else top_k, self.depth if depth is None else depth)
        return [self.at(top_k, depth, total).tau for total in range(1, most + 1)]


class _Columns:
    """A round's candidates as arrays [n], places from 0, and what of them is the target's path."""

    def __init__(self, r: Round, tokens: list[int]):
        c = r.candidates
        self.parent, self.layer, self.score = np.array(c.parent), np.array(c.layer), np.array(c.score)
        places = np.arange(len(self.parent))
        first = np.flatnonzero(np.diff(self.parent, prepend=-1))  # a family is created together, likeliest first
        self.nth = places - np.repeat(first, np.diff(first, append=len(places)))
        self.order = np.lexsort((places, -self.score))  # best first, equal scores in creation order, as `tree.select`
        self.layers = [self.order[self.layer[self.order] == i] for i in range(len(r.layers))]
        self.fed = np.zeros(len(places) + 1, bool)
        self.fed[[i for layer in r.layers for i in layer.expanded]] = True
        self.top_k, self.tokens, self.path = len(self.layers[0]), tokens, np.array(path_of(r, tokens), int) - 1

    def outlook(self, top_k: int, depth: int) -> Outlook:
        if top_k == self.top_k:
            sure = may = self.layer <= depth
            ghosts, unfed = np.zeros(0), []
        else:
            sure, may, ghosts, unfed = self._grow(top_k, depth)
        best, score = self.order, self.score[self.order]
        maybe, surely = np.full((2, len(best)), NEVER)
        maybe[best] = np.where(may[best], 1 + _before(sure[best]), NEVER)
        surely[best] = np.where(sure[best], 1 + _before(may[best]) + _at_least(ghosts, score), NEVER)
        path = self.path[may[self.path]]
        return Outlook((path + 1).tolist(), maybe[path].tolist(), surely[path].tolist(),
                       self._deepest(len(path), unfed, depth), unfed, (maybe, surely))

    def _deepest(self, length: int, unfed: list[int], depth: int) -> int:
        """How far it may go behind the first `length` of the path."""
        last = self.path[length - 1] + 1 if length else 0
        return depth + 1 if length == len(self.tokens) or last in unfed else length  # all that was written, or fed

    def _grow(self, top_k: int, depth: int):
        """The beam anew, layer by layer -> which candidates are scored in any case, and which may be [n]; the best
        scores that ghosts may have, descending; ids of the candidates that are or may be fed and were not."""
        sure = (self.layer == 0) & (self.nth < top_k)
        may, newest, ghosts, unfed = sure.copy(), np.zeros(0), [np.zeros(0)], []
        family = np.log(np.arange(1, top_k + 1))
        for layer in range(1, depth + 1):
            here = self.layers[layer - 1]
            score, s, m = self.score[here], sure[here], may[here]
            feeds = s & (_before(m) + _at_least(newest, score) < top_k)
            might = m & (_before(s) < top_k)
            unknown = here[might & ~self.fed[here + 1]]
            unfed += (unknown + 1).tolist()
            # A ghost may be fed where fewer than top_k are better in any case. Of those that may be, at most top_k are
            dark = newest[_above(score[s], newest) < top_k]
            parents = np.sort(np.concatenate([self.score[unknown], dark]))[::-1][:top_k]
            newest = np.sort((parents[:, None] - family).ravel())[::-1]
            ghosts.append(newest)
            for scored, beam in ((sure, feeds), (may, might)):
                parent = np.zeros(len(self.parent) + 1, bool)
                parent[here[beam] + 1] = True
                children = self.layers[layer]
                scored[children] = parent[self.parent[children]] & (self.nth[children] < top_k)
        return sure, may, np.sort(np.concatenate(ghosts))[::-1], unfed


def _ids(flags: np.ndarray) -> list[int]:
    return (np.flatnonzero(flags) + 1).tolist()


def _before(flags: np.ndarray) -> np.ndarray:
    """How many are set before each place."""
    return np.cumsum(flags) - flags


def _at_least(bounds: np.ndarray, score: np.ndarray) -> np.ndarray:
    """How many of the descending bounds are not below each score."""
    return np.searchsorted(-bounds, -score, side="right")


def _above(score: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """How many of the descending scores are above each bound."""
    return np.searchsorted(-score, -bounds, side="left")
