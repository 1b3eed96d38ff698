"""Ways to draft: how a head's guesses become layers of candidates. One function per way.

A way is a function (drafter, token_ids, features, config) that yields a `Layer` per forward of the head. The
round in `decoder.py` takes any of them: re-rank, verification and acceptance do not care how candidates came
about, as long as parents come before their children.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ..config import DecodeConfig
from ..model.head import Drafter
from ..tree import Layer, expand, select


def grow_dynamic(drafter: Drafter, token_ids: Tensor, features: Tensor, config: DecodeConfig) -> Iterator[Layer]:
    """EAGLE-2's context-aware tree (section 4.1): in each layer the top_k nodes by cumulative score are expanded.

    token_ids [rows] and features [rows, hidden] are what the target has made certain since the last round: each
    feature with the token that follows it, the root last (the whole prompt in the first round, the accepted path
    after). Yields depth + 1 layers: top_k candidates, then top_k^2 in each. Nothing here waits for the device.
    """
    k, device = config.top_k, drafter.device
    feature, logits = drafter.observe(token_ids, features)                     # [1, hidden], [1, vocab]
    token, log_prob, score = _children(drafter, logits, torch.zeros(1, device=device), k)  # [k] each
    ids = torch.arange(1, k + 1, device=device)                                # creation order; 0 is the root
    root = torch.zeros(k, dtype=torch.long, device=device)
    yield Layer(root[:1], token, root, log_prob, score, ids if config.depth else ids[:0])

    # The beam: the k nodes that are fed to the head next. The first time, all children of the root.
    beam_ids, beam_token, beam_score = ids, token, score
    beam_feature = feature.expand(k, -1)  # what the head reads beside a token is the feature predicted for its parent
    itself = torch.eye(k, dtype=torch.bool, device=device)
    mask = itself                                                              # [k, drafted rows so far]
    for step in range(config.depth):
        out, logits = drafter.probe(beam_token, beam_feature, mask)            # [k, hidden], [k, vocab]
        token, log_prob, score = _children(drafter, logits, beam_score, k)     # [k * k] each
        ids = torch.arange(k * k, device=device) + (1 + k + step * k * k)
        parent = beam_ids.repeat_interleave(k)
        if step + 1 == config.depth:
            yield Layer(beam_ids, token, parent, log_prob, score, ids[:0])     # the last layer is not expanded
            return
        best = select(score, k)                                                # [k] places among k * k
        # Not a mask over the k * k: ids[best] lists the next beam itself, best score first, which is its order as rows
        yield Layer(beam_ids, token, parent, log_prob, score, ids[best])
        row = best // k                                                        # the beam row each hangs off
        beam_ids, beam_token, beam_score, beam_feature = ids[best], token[best], score[best], out[row]
        mask = torch.cat([mask[row], itself], dim=1)                           # sees what its parent saw, and itself


def _children(drafter: Drafter, logits: Tensor, parent_score: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The k likeliest children of every row in creation order: token, log_prob, score, each [rows * k]."""
    place, log_prob, score = expand(logits, parent_score, k)
    return drafter.token_ids(place).flatten(), log_prob.flatten(), score.flatten()  # a draft vocabulary has its own places
