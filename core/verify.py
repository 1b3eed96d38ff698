"""The two acceptance rules: how much of a verified tree the target agrees with, and what it says next.

Both are lossless. Greedy: a drafted token stays iff it is the target's argmax. Sampling: drafting is
deterministic, so each child is a point-mass proposal; accepting it with probability p(child) and removing its
mass otherwise leaves exactly the target's distribution (speculative sampling with a one-hot q).
Knows trees and probabilities; not how they were computed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from .tree import Tree


@dataclass(frozen=True, slots=True)
class Draw:
    """One child tried by the sampling rule: accepted iff r < p. p is its share of the mass that its rejected elder
    siblings left, so for the first child the target's probability, for later ones more than that."""

    node: int
    p: float
    r: float

    @property
    def accepted(self) -> bool:
        return self.r < self.p  # never <=: r may be 0, and a token of probability 0 must stay impossible


@dataclass(frozen=True, slots=True)
class Accepted:
    row: int           # first row of retrieve_indices that starts with the path
    path: list[int]    # tree rows, root first
    bonus: int         # the target's own token after the path
    draws: list[Draw]  # empty when greedy


class Chance:
    """Every random choice of a run, from one seed; the same on every device."""

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def draw(self) -> float:
        """Uniform in [0, 1)."""
        return self._random.random()

    def pick(self, p: Tensor) -> int:
        """A token from the unnormalised distribution p [vocab], by its cumulative sum in float64."""
        cumulative = p.double().cumsum(0)
        point = cumulative[-1:] * self._random.random()
        # right=True: the first place whose sum exceeds the point, so a token of probability 0 is never taken
        return min(int(torch.searchsorted(cumulative, point, right=True)), len(p) - 1)


def accept_greedy(tree: Tree, argmax: Tensor, sound: Tensor | None = None) -> Accepted:
    """The longest root-to-leaf prefix of which the target would have said every token itself.

    argmax [rows]: the target's choice after each row. sound [rows]: False where its numbers there are not finite; such a
    row is not accepted, its token may still be the bonus. Siblings have different tokens, so the path is unique
    although several leaves may share it; `row` is the first of them.
    """
    if len(tree.token) == 1:
        return Accepted(0, [0], int(argmax[0]), [])
    paths = tree.retrieve_indices                                                # [leaves, columns]
    # A token stays if the target would have said it after its parent, one column to the left; padding never does
    matches = (tree.token[paths[:, 1:]] == argmax[paths[:, :-1]]) & (paths[:, 1:] >= 0)
    if sound is not None:
        matches &= sound[paths[:, 1:]]
    length = matches.long().cumprod(dim=1).sum(dim=1)                            # [leaves]
    row = int((length == length.max()).long().argmax())
    path = paths[row, : int(length[row]) + 1].tolist()
    return Accepted(row, path, int(argmax[path[-1]]), [])


def accept_sampling(tree: Tree, distribution: Callable[[int], Tensor], chance: Chance,
                    sound: Tensor | None = None) -> Accepted:
    """Walk down the tree by speculative sampling with point-mass proposals.

    distribution(row) -> [vocab]: the target's probabilities after that row, with temperature, top-p and top-k
    already applied; asked only for rows on the path. At each row the children are tried in descending draft
    score: siblings are created likeliest first (`tree.expand`), and rows keep that order. The bonus is drawn from
    the mass that the rejected ones leave. A row that is not sound [rows], where the target's numbers are not finite, is
    tried with p = 0 and leaves all its mass: its token may still be the bonus.
    """
    path, draws, parents = [0], [], tree.parent.tolist()
    while True:
        p = distribution(path[-1])
        children = [row for row, parent in enumerate(parents) if parent == path[-1]]
        if not children:
            return Accepted(_row(tree, path), path, chance.pick(p), draws)
        tokens = tree.token[children].to(p.device)
        tried = p[tokens].double()
        if sound is not None:
            fit = sound[children].to(p.device)
            tokens, tried = tokens[fit], tried * fit
        # In float64 the sum is exact enough that a last child with all the mass that is left has p = 1, not 1 - 1e-8
        *shares, left = torch.cat([tried, p.double().sum()[None]]).tolist()
        stays = None
        for node, share in zip(children, shares):
            draws.append(Draw(node, min(share / left, 1.0) if left > 0 else 0.0, chance.draw()))
            if draws[-1].accepted:
                stays = node
                break
            left -= share
        if stays is None:
            return Accepted(_row(tree, path), path, chance.pick(p.index_fill(0, tokens, 0.0)), draws)
        path.append(stays)


def _row(tree: Tree, path: list[int]) -> int:
    if len(path) == 1:  # all of them start with the root
        return 0
    starts = (tree.retrieve_indices[:, : len(path)] == torch.tensor(path)).all(dim=1)
    return int(starts.long().argmax())


def target_distribution(logits: Tensor, temperature: float, top_p: float = 1.0, top_k: int = 0) -> Tensor:
    """softmax(logits / temperature) cut to the top_k likeliest tokens, then to the nucleus of mass top_p.

    logits [vocab] -> [vocab] float32, sums to 1. The order of the cuts is that of transformers' `generate`, and so is
    that tokens equal to the top_k-th all stay.
    """
    logits = logits.float() / temperature
    if 0 < top_k < len(logits):
        logits = logits.masked_fill(logits < logits.topk(top_k).values[-1], -torch.inf)
    p = logits.softmax(dim=-1)
    if top_p < 1:
        ranked, order = p.sort(descending=True, stable=True)
        cut = ranked.cumsum(0) - ranked >= top_p  # where the likelier tokens make up the nucleus already
        cut[0] = False                            # the likeliest always stays, also for a top_p that underflows
        p = p.index_fill(0, order[cut], 0.0)
        p = p / p.sum()
    return p
