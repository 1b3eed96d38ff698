"""Static against dynamic: what one fixed shape of the same size would have accepted of a run, chosen in hindsight.

A shape is a set of rank paths, closed upwards: (1,) is the likeliest child of the root, (1, 3) the third likeliest
after it, as the head ranks them. Every round's text has a rank path too, and a shape accepts what of it lies inside.
Reads traces only; no torch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..trace.document import Trace
from ..trace.parts import Round
from .wanted import path_of, wanted

RankPath = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Static:
    """The best fixed shape of a run, and what it would have been worth.

    size      nodes that a round may keep, as many as the run's own trees have at most
    shape     the rank paths that served any round, best first: `size` at most; more of them would have changed nothing
    accepted  what the shape accepts of every round
    blind     the same where each round's shape is chosen from the other rounds only: what one chosen beforehand does
    dynamic   what the run accepted
    unknown   rounds whose text leaves the candidates at one that was not fed: a shape may have gone further there
    """

    size: int
    shape: list[RankPath]
    accepted: list[int]
    blind: list[int]
    dynamic: list[int]
    unknown: int

    @property
    def tau(self) -> float:
        return _tau(self.accepted)

    @property
    def tau_blind(self) -> float:
        return _tau(self.blind)

    @property
    def tau_dynamic(self) -> float:
        return _tau(self.dynamic)


def static(trace: Trace, size: int | None = None) -> Static:
    """The best shape of so many nodes, as many as the run keeps unless told. A node is worth the rounds whose text goes
    through it, a child never more than its parent, so the best shape is the most travelled nodes (of equals the nearest
    to the root, then the likeliest)."""
    if size is None:
        size = max((len(r.tree.candidate) - 1 for r in trace.rounds), default=0)
    paths, unknown = [], 0
    for r, tokens in zip(trace.rounds, wanted(trace)):
        nodes = path_of(r, tokens)
        paths.append(_ranks(r, nodes))
        last = nodes[-1] if nodes else 0
        over = len(nodes) in (len(tokens), len(r.layers))
        unknown += not over and not any(last in layer.expanded for layer in r.layers)
    travelled = Counter(path[:n] for path in paths for n in range(1, len(path) + 1))
    shape = _best(travelled, size)
    return Static(size, shape, [_inside(path, set(shape)) for path in paths],
                  [_inside(path, set(_best(travelled - _through(path), size))) for path in paths],
                  [r.accept.length for r in trace.rounds], unknown)


def _ranks(r: Round, nodes: list[int]) -> RankPath:
    """The place of each node among its siblings, from 1. They are created likeliest first."""
    place, seen = {}, Counter()
    for i, parent in enumerate(r.candidates.parent, start=1):
        seen[parent] += 1
        place[i] = seen[parent]
    return tuple(place[node] for node in nodes)


def _best(travelled: Counter, size: int) -> list[RankPath]:
    return sorted(travelled, key=lambda path: (-travelled[path], len(path), path))[:size]


def _through(path: RankPath) -> Counter:
    return Counter(path[:n] for n in range(1, len(path) + 1))


def _inside(path: RankPath, shape: set[RankPath]) -> int:
    """How far a text goes within a shape."""
    return next((n for n in range(len(path)) if path[: n + 1] not in shape), len(path))


def _tau(accepted: list[int]) -> float:
    return 1 + sum(accepted) / len(accepted) if accepted else 0.0
