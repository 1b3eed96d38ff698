"""Where each round was lost: why the token that the target wanted next was not among the kept.

Reads traces only; no torch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..trace.document import Trace
from ..trace.parts import Round

# The reasons, in the order in which a round is asked
ENDED = "ended"            # the run ended here: nothing more was wanted
UNDRAFTED = "undrafted"    # nothing was drafted
CUT = "cut"                # scored, and cut by the re-rank
UNREAD = "unread"          # kept, but the target's numbers there were not finite
UNSCORED = "unscored"      # its parent was fed to the head, and it was not among the children
DEPTH = "depth"            # its parent is of the last layer: the tree ends there
UNEXPANDED = "unexpanded"  # its parent was not fed to the head
REASONS = (ENDED, UNDRAFTED, CUT, UNREAD, UNSCORED, DEPTH, UNEXPANDED)


@dataclass(frozen=True, slots=True)
class Loss:
    """The end of a round. `after` is the candidate id of the last accepted node (0: the root), `wanted` the token that
    the target said there, `candidate` its id where the head scored it (0: it did not). Of that one `rank` is its place
    among all candidates by score, from 1, `score` its own and `cutoff` the worst that was kept."""

    reason: str
    round: int
    after: int
    wanted: int
    candidate: int = 0
    rank: int | None = None
    score: float | None = None
    cutoff: float | None = None


def losses(trace: Trace) -> list[Loss]:
    """One of every round, in order."""
    found, out = [], 1  # the first root is out before any round
    for r in trace.rounds:
        left = len(trace.output.token_ids) - out
        found.append(_loss(r, ended=left <= r.accept.length))
        out += len(r.decided)
    return found


def counts(found: list[Loss]) -> dict[str, int]:
    """How many rounds ended for each reason, those that occur, the most frequent first."""
    number = {reason: sum(loss.reason == reason for loss in found) for reason in REASONS}
    return {reason: number[reason] for reason in sorted(REASONS, key=lambda reason: -number[reason]) if number[reason]}


def _loss(r: Round, ended: bool) -> Loss:
    c, after, wanted = r.candidates, r.tree.candidate[r.accept.bonus_from], r.accept.bonus
    if ended:
        return Loss(ENDED, r.index, after, wanted)
    if not c.token:
        return Loss(UNDRAFTED, r.index, after, wanted)
    candidate = next((i for i, (parent, token) in enumerate(zip(c.parent, c.token), start=1)
                      if parent == after and token == wanted), 0)
    if candidate:
        rank = int(np.flatnonzero(by_score(c.score) == candidate - 1)[0]) + 1
        return Loss(UNREAD if candidate in r.tree.candidate else CUT, r.index, after, wanted, candidate, rank,
                    c.score[candidate - 1], r.tree.cutoff)
    if any(after in layer.expanded for layer in r.layers):
        return Loss(UNSCORED, r.index, after, wanted)
    last = after and c.layer[after - 1] == len(r.layers) - 1
    return Loss(DEPTH if last else UNEXPANDED, r.index, after, wanted)


def by_score(score: list[float]) -> np.ndarray:
    """Places of candidates, the best first, equal scores in creation order: the order of the re-rank."""
    return np.argsort(-np.array(score), kind="stable")
