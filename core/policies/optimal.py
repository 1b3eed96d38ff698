"""The nodes of largest probability there are, by the head's own numbers: every node that may still have a child among
the best is expanded, however many there are in a layer. EAGLE-2 without its beam.

Jikai Wang et al., "OPT-Tree", is the same search. Knows nothing of verification.
"""

from __future__ import annotations

from collections.abc import Iterator

from .policy import Bounds, Knob, Policy


class Optimal(Policy):
    name = "optimal"
    knobs = {
        "nodes": Knob(25, least=1, most=250, says="drafted nodes, the likeliest of all"),
        "layers": Knob(6, least=1, most=100, says="layers that the tree has at most, one head pass each"),
    }

    def bounds(self, knobs):
        nodes, layers = knobs["nodes"], knobs["layers"]
        return Bounds(passes=layers, candidates=nodes * layers, rows=nodes + 1, depth=min(layers, nodes),
                      head_rows=(layers - 1) * (nodes - 1), children=nodes)

    def grow(self, drafter, token_ids, features, config) -> Iterator:
        """Of each layer only the children that are among the best of all so far: the others never will be. How many
        there are depends on the numbers, so every layer waits for the device."""
        import torch

        from ..tree import Layer, expand, select

        n, device = config.nodes, drafter.device
        out, logits = drafter.observe(token_ids, features)                         # [1, hidden], [1, vocab]
        fed, fed_score, mask = torch.zeros(1, dtype=torch.long, device=device), torch.zeros(1, device=device), None
        scores = fed_score[:0]                                                     # of all candidates so far, by id - 1
        for depth in range(1, config.layers + 1):
            place, log_prob, score = (column.flatten() for column in expand(logits, fed_score, n))  # [rows * n] each
            born = len(scores)
            best = select(torch.cat([scores, score]), n)
            new = (best[best >= born] - born).sort().values                        # in creation order
            row, token = new // n, drafter.token_ids(place[new])
            scores = torch.cat([scores, score[new]])
            best = select(scores, n - 1)           # a child of the n-th best would be worse than n others
            again = best[best >= born] - born if depth < config.layers else best[:0]
            yield Layer(fed, token, fed[row], log_prob[new], score[new], again + born + 1)
            if not len(again):
                return
            parent = row[again]
            itself = torch.eye(len(again), dtype=torch.bool, device=device)
            mask = itself if mask is None else torch.cat([mask[parent], itself], dim=1)  # sees what its parent saw
            fed, fed_score = again + born + 1, score[new][again]
            out, logits = drafter.probe(token[again], out[parent], mask, depth)    # [rows, hidden], [rows, vocab]

    def keep(self, candidates, config):
        """The best of all layers."""
        from ..tree import rerank
        return rerank(candidates.score, config.nodes)


POLICY = Optimal()
