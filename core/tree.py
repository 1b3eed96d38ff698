"""The draft tree as pure functions on tensors: expand, select, rerank, flatten.

Knows scores and parents; knows nothing of models, devices or text. A candidate's id is its place in creation
order plus one; id 0 is the root. Scores are float32 sums of log-probabilities, whatever the models compute in.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

UNLIKELY = -1e5  # log-probability of a guess that is no number: below every real one, and finite, so that sums stay so


@dataclass(frozen=True, slots=True)
class Layer:
    """What the head proposed at once: columns over all children of the rows it was fed, on the head's device."""

    expanded: Tensor  # [rows] candidate ids fed to the head, 0 = root
    token: Tensor     # [children]
    parent: Tensor    # [children] candidate ids
    log_prob: Tensor  # [children] float32, given the parent
    score: Tensor     # [children] float32, cumulative from the root
    selected: Tensor  # candidate ids that the next layer expands
    passes: int = 1   # forwards of the head that it took


@dataclass(frozen=True, slots=True)
class Candidates:
    """All children of a round in creation order, on the CPU. Every column is [N]."""

    token: Tensor
    parent: Tensor
    layer: Tensor
    score: Tensor


@dataclass(frozen=True, slots=True)
class Tree:
    """The kept candidates as rows, root first, then creation order. `rows` is total_tokens + 1; all on the CPU."""

    token: Tensor             # [rows]
    candidate: Tensor         # [rows] candidate id of each row, 0 for the root
    parent: Tensor            # [rows] row of each row's parent, -1 for the root
    depth: Tensor             # [rows] 0 for the root
    mask: Tensor              # [rows, rows] bool, True where the row may attend: its ancestors and itself
    retrieve_indices: Tensor  # [leaves, deepest + 1] rows from root to leaf, -1 padded, by ascending leaf
    cutoff: float             # score of the worst kept candidate; 0 of none


def expand(logits: Tensor, parent_score: Tensor, top_k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The top_k children of every row (EAGLE-2, section 4.1).

    logits [rows, vocab], parent_score [rows] float32 -> token, log_prob, score, each [rows, top_k], children
    of a row in descending probability. Where logits are not finite, neither is the guess: it is UNLIKELY.
    """
    logits = logits.float()
    best, token = logits.topk(top_k, dim=-1)
    log_prob = (best - logits.logsumexp(dim=-1, keepdim=True)).nan_to_num(UNLIKELY, UNLIKELY, UNLIKELY)
    log_prob = log_prob.clamp(max=0)  # rounding may lift log 1 above 0, and a child above its parent
    return token, log_prob, parent_score[:, None] + log_prob


def select(score: Tensor, count: int) -> Tensor:
    """Places of the `count` best scores, best first; equal scores in creation order. score [n] -> [count]."""
    return score.sort(descending=True, stable=True).indices[:count]


def rerank(score: Tensor, total_tokens: int) -> Tensor:
    """Places of the `total_tokens` best of all candidates, in creation order (EAGLE-2, section 4.2).

    A child never scores above its parent (`expand` sees to that) and is created after it, so the stable order keeps
    every parent of a kept candidate, also among equal scores. Creation runs layer by layer, so this is the paper's rule:
    at equal value prefer the shallower node.
    """
    return select(score, total_tokens).sort().values


def gather(layers: list[Layer]) -> Candidates:
    """All layers as one set of candidates on the CPU: the one transfer of a round's draft. N = sum of layer sizes."""
    if not layers:
        return NOTHING
    numbers = torch.stack([torch.cat([layer.token for layer in layers]), torch.cat([layer.parent for layer in layers])])
    score = torch.cat([layer.score for layer in layers]).to("cpu", non_blocking=True)
    token, parent = numbers.cpu()  # waits for both copies
    sizes = torch.tensor([len(layer.token) for layer in layers])
    return Candidates(token, parent, torch.arange(len(layers)).repeat_interleave(sizes), score)


def flatten(root: int, candidates: Candidates, kept: Tensor) -> Tree:
    """The kept candidates as a tree that the target can read in one pass.

    kept [total_tokens] ascending places, closed under parents (asserted: a child without its parent would be
    verified in a context that nobody drafted). Of none, the tree is the root alone.
    """
    if not len(kept):
        return Tree(torch.tensor([root]), *ALONE)
    rows = len(kept) + 1
    candidate = torch.cat([torch.zeros(1, dtype=torch.long), kept + 1])         # [rows]
    row_of = torch.full((len(candidates.token) + 1,), -1)
    row_of[candidate] = torch.arange(rows)
    parent = row_of[candidates.parent[kept]]                                    # [total_tokens]
    assert bool((parent >= 0).all()), "the policy kept a candidate without its parent"
    parent = torch.cat([torch.tensor([-1]), parent])
    token = torch.cat([torch.tensor([root]), candidates.token[kept]])

    # All rows climb to the root in step, each marking the ancestor it stands on. For root 0, its child 1 and grandchild 2
    # they stand on [0, 1, 2], then [0, 0, 1], then [0, 0, 0]; the steps to the root are the depth.
    climb = parent.clamp(min=0)  # the root climbs to itself
    every_row = torch.arange(rows)
    stands, depth = [every_row], torch.zeros(rows, dtype=torch.long)
    while bool((on := stands[-1] > 0).any()):
        depth += on
        stands.append(climb[stands[-1]])
    mask = torch.zeros(rows, rows, dtype=torch.bool)
    path = torch.full((rows, len(stands)), -1)
    for up, ancestor in enumerate(stands):  # an ancestor's place in the path is its depth
        mask[every_row, ancestor] = True
        path[every_row, (depth - up).clamp(min=0)] = ancestor

    leaf = torch.ones(rows, dtype=torch.bool)
    leaf[parent[1:]] = False
    return Tree(token, candidate, parent, depth, mask, path[leaf], float(candidates.score[kept].min()))


_ZERO, _NONE = torch.zeros(1, dtype=torch.long), torch.zeros(0, dtype=torch.long)
NOTHING = Candidates(_NONE, _NONE, _NONE, torch.zeros(0))
ALONE = (_ZERO, _ZERO - 1, _ZERO, torch.ones(1, 1, dtype=torch.bool), _ZERO[None], 0.0)  # a tree but for its token
