"""The fixed tree that is best on average: rates say how often a rank is accepted at a depth, and a dynamic programme
finds the tree of so many nodes of which most is accepted.

Zhuoming Chen et al., "Sequoia", algorithms 1 and 4. A rate is that of a rank where its parent was accepted; the value
of a tree is the sum over its nodes, root included, of the products along their paths. Knows nothing of verification.
"""

from __future__ import annotations

from functools import lru_cache

from ..errors import UserError
from .policy import Knob, Listing
from .static import Fixed, Path

Rates = tuple[tuple[float, ...], ...]

# Llama-3 70B drafted for by 8B, on news: as the paper prints them
PRINTED = ((0.7732, 0.1039, 0.0402, 0.0206, 0.0128, 0.0081, 0.0064, 0.0043, 0.0035, 0.0026),)


@lru_cache(maxsize=64)
def best_tree(nodes: int, layers: int, rates: Rates) -> tuple[float, tuple[Path, ...]]:
    """The largest value of a tree of exactly so many drafted nodes, and the paths of one that has it, by layer.

    rates: a row for each depth, the root's children first; the last row is good for whatever lies deeper. -infinity and
    no paths where there is no such tree. O(layers * ranks * nodes^2).
    """
    import numpy as np

    rows = nodes + 1
    size = np.arange(rows + 1)
    rest = size[:, None] - size[None, :]                    # [n, m] -> n - m: what m nodes of a child leave of n
    possible = (rest >= 1) & (size[None, :] >= 1)
    alone = np.where(size == 1, 1.0, -np.inf)               # a node without children
    value, choices = alone, []                              # of a tree of n nodes whose root stands at this depth
    for depth in reversed(range(layers)):
        table, taken, best, ranks = alone, [], alone, np.zeros(rows + 1, dtype=int)
        for rank, rate in enumerate(rates[min(depth, len(rates) - 1)], 1):
            # The child of this rank and its own nodes are m of the n; elder siblings have what is left
            child = np.where(np.isfinite(value), rate * np.where(np.isfinite(value), value, 0), -np.inf)
            total = np.where(possible, table[rest.clip(0)] + child[None, :], -np.inf)
            taken.append(total.argmax(axis=1))
            table = total.max(axis=1)
            better = table > best
            best, ranks = np.where(better, table, best), np.where(better, rank, ranks)
        value = best
        choices.append((ranks, taken))
    if not np.isfinite(value[rows]):
        return -np.inf, ()
    return float(value[rows]), tuple(sorted(_paths((), rows, choices[::-1]), key=lambda path: (len(path), path)))


def _paths(root: Path, nodes: int, choices: list) -> list[Path]:
    """The paths below a node that has so many nodes, itself among them: its youngest child first."""
    found: list[Path] = []
    if nodes > 1:
        ranks, taken = choices[len(root)]
        for rank in reversed(range(ranks[nodes])):
            own = int(taken[rank][nodes])
            found += [(*root, rank), *_paths((*root, rank), own, choices)]
            nodes -= own
    return found


class Sequoia(Fixed):
    name = "sequoia"
    knobs = {
        "nodes": Knob(25, least=1, most=1_000, says="drafted nodes of the tree"),
        "layers": Knob(6, least=1, most=100, says="layers that it has at most"),
        "rates": Listing(PRINTED, "a list of rates from 0 to 1 for each depth, like [[0.7, 0.1], [0.6, 0.1]]",
                         deep=True, whole=False, most=1,
                         says="how often a rank is accepted after its parent, depth by depth"),
    }

    def check(self, knobs):
        ranks = max(map(len, knobs["rates"]))
        if ranks > 100:
            raise UserError(f"rates has rates of {ranks} ranks; 100 are the most, so leave out the last.")
        if not self.paths(knobs):
            raise UserError(f"There is no tree of {knobs['nodes']} nodes in {knobs['layers']} layers with rates of "
                            f"{ranks} ranks; lower nodes, or raise layers, or give rates of more ranks.")

    def paths(self, knobs):
        return best_tree(knobs["nodes"], knobs["layers"], tuple(map(tuple, knobs["rates"])))[1]


POLICY = Sequoia()
