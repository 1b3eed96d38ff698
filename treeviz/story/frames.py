"""A round as the ordered frames of a walkthrough: root, expand and select per layer, rerank, flatten, verify,
accept, commit.

A frame says which step it is, which function in `core/` does it, what every node is at that moment and
which nodes the step is about. It knows no words, no coordinates and no colours.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

# One letter per state; a node that does not exist yet is ABSENT. The browser's side of both tables is
# `assets/view/frames.js`.
STATES = ROOT, SCORED, EXPANDED, KEPT, PRUNED, ACCEPTED, REJECTED, BONUS = tuple("Rsekpaxb")
ABSENT = "."


class Step(NamedTuple):
    """What there is to show of a kind of frame: the file and function of `core/` that do it, a pattern of the lines to
    mark, and the number at a box ("score", "row" or "target", its probability)."""

    file: str
    function: str
    mark: str
    number: str


# By kind; what comes after a dot is another way of doing the same.
FRAMES = {
    "root": Step("core/decoder.py", "rounds", r"yield Started|root = accepted\.bonus|root, path = |fresh = torch\.cat",
                 "score"),
    "expand": Step("core/tree.py", "expand", r"topk|logsumexp|return", "score"),
    "select": Step("core/tree.py", "select", r"return", "score"),
    "rerank": Step("core/tree.py", "rerank", r"return", "score"),
    "flatten": Step("core/tree.py", "flatten", r"row_of|mask\[|path\[|leaf\[", "row"),
    "verify": Step("core/model/target.py", "Target.verify", r"forward|position", "target"),
    "accept": Step("core/verify.py", "accept_greedy", r"matches|length = |return", "target"),
    "accept.sample": Step("core/verify.py", "accept_sampling", r"draws\.append|accepted|left -=|index_fill", "target"),
    "commit": Step("core/model/cache.py", "KVCache.keep", r"=|copy|index", "row"),
}


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of a round.

    kind    what step it is: a key of FRAMES, but for what follows a dot
    layer   the layer of an expand or select frame, else None
    code    key of FRAMES: the function that does this step
    states  one letter per node: the root, every candidate in creation order, and last the bonus
    focus   the nodes that the step is about: 0 is the root, i the candidate i, `len(states) - 1` the bonus
    counts  what its sentence may name beside what every round has
    """

    kind: str
    layer: int | None
    code: str
    states: str
    focus: tuple[int, ...]
    counts: Mapping[str, int | str]


def frames(round_) -> list[Frame]:
    """The frames of a `core.trace.document.Round`, in order. Where there is nothing to choose from there is no frame of
    the choice: none to select where a layer has one candidate, none to re-rank where all are kept, and where nothing is
    drafted no tree to flatten."""
    r, count = round_, len(round_.candidates.token)
    bonus = count + 1
    state = [ROOT] + [ABSENT] * (count + 1)
    result = []

    def frame(kind, focus, layer=None, code=None, **counts):
        result.append(Frame(kind, layer, code or kind, "".join(state), tuple(focus), counts))

    frame("root", [0])
    for level, layer in enumerate(r.layers):
        born = born_in(r, level)
        state[born.start + 1:born.stop + 1] = SCORED * len(born)
        if born:
            frame("expand", layer.expanded, level)
        for i in layer.selected:
            state[i] = EXPANDED
        if layer.selected and len(born) > 1:
            frame("select", layer.selected, level)
    kept = r.tree.candidate[1:]
    state[1:bonus] = [PRUNED] * count
    for i in kept:
        state[i] = KEPT
    if len(kept) < count:
        frame("rerank", kept)
    if kept:
        frame("flatten", [0, *kept])
    frame("verify", [0, *kept])
    path = [r.tree.candidate[row] for row in r.accept.path]
    for i in path[1:]:
        state[i] = ACCEPTED
    for row in rejected_rows(r):
        state[r.tree.candidate[row]] = REJECTED
    state[bonus] = BONUS
    frame("accept", [*path, bonus], code="accept" if r.accept.rule == "greedy" else "accept.sample")
    frame("commit", [*path, bonus])
    return result


def born_in(r, layer: int) -> range:
    """The places of a layer's candidates in the columns: layers follow one another."""
    layers = r.candidates.layer
    return range(bisect_left(layers, layer), bisect_left(layers, layer + 1))


def rejected_rows(r) -> list[int]:
    """The drafted rows that the target turned down where the path ended; in sampling, whichever no draw accepted."""
    if r.accept.rule != "greedy":
        return [*dict.fromkeys(draw.node for draw in r.accept.draws if draw.node not in r.accept.path)]
    return [row for row, parent in enumerate(r.tree.parent) if parent == r.accept.bonus_from]


def pack(states: str) -> str:
    """Run-length spelling of `states` for the page: "R.510" is a root and 510 nodes that are not there yet."""
    return re.sub(r"(.)\1+", lambda run: f"{run[1]}{len(run[0])}", states)
