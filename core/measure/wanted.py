"""What the target wanted of each round: the tokens that it said after the root, and the candidates that carry them.

A run's own text is the target's continuation of every round's start, whatever the round accepted of it. Reads traces
only; no torch.
"""

from __future__ import annotations

from ..trace.document import Trace
from ..trace.parts import Round


def wanted(trace: Trace) -> list[list[int]]:
    """Of each round the tokens that the target said after its root, as many as the head drafted layers and one more;
    fewer where the run ends. What the last round decided beyond the run's end is among them."""
    said = [token for r in trace.rounds for token in r.decided]  # the root of the first round is not among them
    tokens, at = [], 0
    for r in trace.rounds:
        tokens.append(said[at : at + len(r.layers) + 1])
        at += len(r.decided)
    return tokens


def path_of(r: Round, tokens: list[int]) -> list[int]:
    """Ids of the candidates that say these tokens one after the other from the root, as far as the head scored them."""
    c = r.candidates
    child = {(parent, token): i for i, (parent, token) in enumerate(zip(c.parent, c.token), start=1)}
    path = [0]
    for token in tokens:
        if (node := child.get((path[-1], token))) is None:
            break
        path.append(node)
    return path[1:]
