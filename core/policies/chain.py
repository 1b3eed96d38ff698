"""A chain: the head's likeliest token, and the likeliest after it, `length` times. No choice, so nothing is cut.

The oldest way to draft (Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", 2023), here with
the EAGLE head for its draft model. Knows nothing of verification.
"""

from __future__ import annotations

from collections.abc import Iterator

from .policy import Bounds, Knob, Policy


class Chain(Policy):
    name = "chain"
    exact = True
    knobs = {"length": Knob(5, least=1, most=10_000, says="drafted tokens, one head pass each")}

    def bounds(self, knobs):
        length = knobs["length"]
        return Bounds(passes=length, candidates=length, rows=length + 1, depth=length, head_rows=length - 1, children=1)

    def grow(self, drafter, token_ids, features, config) -> Iterator:
        """`length` layers of one candidate each. Nothing here waits for the device."""
        import torch

        from ..tree import Layer, expand

        feature, logits = drafter.observe(token_ids, features)                      # [1, hidden], [1, vocab]
        score = torch.zeros(1, device=drafter.device)
        node = torch.arange(config.length + 1, device=drafter.device)
        for depth in range(1, config.length + 1):
            place, log_prob, score = (column[:, 0] for column in expand(logits, score, 1))  # [1] each
            token, last = drafter.token_ids(place), depth == config.length
            yield Layer(node[depth - 1 : depth], token, node[depth - 1 : depth], log_prob, score,
                        node[:0] if last else node[depth : depth + 1])
            if last:
                return
            # sees the drafted tokens before it, all of them its ancestors, and itself
            mask = torch.ones(1, depth, dtype=torch.bool, device=drafter.device)
            feature, logits = drafter.probe(token, feature, mask, depth)


POLICY = Chain()
