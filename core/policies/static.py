"""A fixed tree: the same rank paths in every round, whatever the head says. Nothing is chosen, so nothing is cut.

A path is a list of ranks from the root: [0, 2] is the third likeliest token after the likeliest one. The usual tree is
EAGLE-1's (Yuhui Li et al., "EAGLE", section 4), 25 paths, of which five layers come. Knows nothing of verification.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ..errors import UserError
from .policy import MOST_LISTED, Bounds, Knob, Listing, Policy

Path = tuple[int, ...]

EAGLE1 = tuple(tuple(map(int, path)) for path in (
    "0 1 2 3 00 01 02 10 11 20 21 30 000 001 002 010 011 020 021 100 0000 0001 0002 00000 00001").split())


@dataclass(frozen=True, slots=True)
class Step:
    """What a pass of the head feeds, and which of its children are in the tree. Fed rows and children by rank path."""

    fed: list[int]      # candidate ids, 0 the root
    width: int          # likeliest children that each row is asked for
    row: list[int]      # of every child: which fed row it hangs off
    rank: list[int]     # of every child
    again: list[int]    # places among the children of those that the next pass feeds


@lru_cache(maxsize=64)
def plan(paths: tuple[Path, ...]) -> tuple[Step, ...]:
    """One step for each layer of the tree. Candidates are numbered by layer, within it by path: parents first, siblings
    likeliest first. Only nodes that have children are fed, so the rows of a pass vary."""
    ordered = sorted(paths, key=lambda path: (len(path), path))
    number = {(): 0} | {path: place + 1 for place, path in enumerate(ordered)}
    inner = {path[:-1] for path in ordered}
    steps, fed = [], [()]
    for depth in range(1, len(ordered[-1]) + 1):
        children = [path for path in ordered if len(path) == depth]
        again = [place for place, path in enumerate(children) if path in inner]
        rows = {path: row for row, path in enumerate(fed)}
        steps.append(Step([number[path] for path in fed], 1 + max(path[-1] for path in children),
                          [rows[path[:-1]] for path in children], [path[-1] for path in children], again))
        fed = [children[place] for place in again]
    return tuple(steps)


def refuse_open(paths: list[Path], name: str) -> None:
    """Paths that are no tree. Raises UserError, one sentence."""
    known: set[Path] = set()
    for path in paths:
        if path in known:
            raise UserError(f"{name} holds the path {list(path)} twice; leave one of them out.")
        known.add(path)
    depths = sorted({len(path) for path in paths})
    for above, depth in pairwise([0, *depths]):
        if depth != above + 1:
            raise UserError(f"{name} has paths of {depth} ranks but none of {above + 1}; a tree has every layer "
                            "down to its deepest.")
    for path in paths:
        if len(path) > 1 and path[:-1] not in known:
            raise UserError(f"{name} holds the path {list(path)} without its parent {list(path[:-1])}; add "
                            "the parent too.")


class Fixed(Policy):
    """Whatever drafts rank paths that are known before the head is asked: `paths` says which."""

    exact = True

    def paths(self, knobs) -> tuple[Path, ...]:
        raise NotImplementedError

    def bounds(self, knobs):
        paths = self.paths(knobs)
        steps = plan(paths)
        return Bounds(passes=len(steps), candidates=len(paths), rows=len(paths) + 1, depth=len(steps),
                      head_rows=sum(len(step.fed) for step in steps[1:]), children=max(step.width for step in steps))

    def grow(self, drafter, token_ids, features, config) -> Iterator:
        """A layer for each step of the plan. Nothing here waits for the device."""
        import torch

        from ..tree import Layer, expand

        def places(numbers):
            return torch.tensor(numbers, dtype=torch.long, device=drafter.device)

        out, logits = drafter.observe(token_ids, features)                          # [1, hidden], [1, vocab]
        score, mask, born = torch.zeros(1, device=drafter.device), None, 0
        steps = plan(self.paths(config.knobs))
        for depth, step in enumerate(steps, 1):
            row, rank, fed, again = map(places, (step.row, step.rank, step.fed, step.again))
            token, log_prob, total = (column[row, rank] for column in expand(logits, score, step.width))  # [children]
            token = drafter.token_ids(token)
            yield Layer(fed, token, fed[row], log_prob, total, again + born + 1)
            if depth == len(steps):
                return
            born += len(step.row)
            parent = row[again]                                                     # the fed row each hangs off
            itself = torch.eye(len(again), dtype=torch.bool, device=drafter.device)
            mask = itself if mask is None else torch.cat([mask[parent], itself], dim=1)  # sees what its parent saw
            score = total[again]
            out, logits = drafter.probe(token[again], out[parent], mask, depth)     # [rows, hidden], [rows, vocab]


class Static(Fixed):
    name = "static"
    knobs = {
        "tree": Listing(EAGLE1, "a list of rank paths, like [[0], [1], [0, 0]]", deep=True, says="rank paths"),
        "nodes": Knob(0, most=MOST_LISTED, says="drafted nodes: the first so many paths of the tree, 0 all"),
    }

    def paths(self, knobs):
        return tuple(map(tuple, knobs["tree"]))[: knobs["nodes"] or None]

    def check(self, knobs):
        count = len(knobs["tree"])
        if knobs["nodes"] > count:
            raise UserError(f"nodes is {knobs['nodes']}, but the tree has {count} paths; give {count} or less.")
        refuse_open(self.paths(knobs), "tree")


POLICY = Static()
