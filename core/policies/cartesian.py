"""A product of widths: every node of a layer gets as many children as the next layer is wide, the head's likeliest.

Medusa's first tree (Tianle Cai et al., "Medusa", section 2.1), but with the head's conditional children: what follows a
node is asked after that node. Nothing is chosen, so nothing is cut. Knows nothing of verification.
"""

from __future__ import annotations

from itertools import product

from ..errors import UserError
from .policy import Listing
from .static import Fixed

MOST = 1_000  # drafted nodes


class Cartesian(Fixed):
    name = "cartesian"
    knobs = {"widths": Listing((3, 2, 2, 1), f"a list of whole numbers from 1 to {MOST}, like [3, 2, 2]", least=1,
                               most=MOST, says="children of each node, layer by layer")}

    def check(self, knobs):
        nodes = layer = 1
        for width in knobs["widths"]:
            nodes += (layer := layer * width)
            if nodes > MOST + 1:
                raise UserError(f"The product of the widths has more than {MOST:,} nodes; give fewer widths, or "
                                "smaller ones.")

    def paths(self, knobs):
        ranks = [range(width) for width in knobs["widths"]]
        return tuple(path for depth in range(1, len(ranks) + 1) for path in product(*ranks[:depth]))


POLICY = Cartesian()
