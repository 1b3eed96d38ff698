"""Sweep: which top_k, depth and total_tokens suit a pair on this machine.

Each prompt is decoded once with the largest tree; from that run what-if tells every smaller one (`whatif.py`), and the
cost curve its seconds (`cost.py`). The best few are then really run, in turns with plain decoding.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from .. import decoder
from ..config import DecodeConfig
from ..errors import UserError
from ..limits import check_input
from ..model.pair import Pair
from ..trace.events import CacheCommitted, TraceBuilder
from ..trace.record import stream
from .cost import Cost
from .grid import Shape, sums
from .swept import Ran, Recorded, Sweep
from .whatif import WhatIf


@dataclass(frozen=True, slots=True)
class Step:
    """What is being done, and how much of all is over (0..1): a prompt is recorded, or in a turn (from 0) run with a
    setting, plainly where there is none."""

    share: float
    prompt: int
    turn: int | None = None
    shape: Shape | None = None

    def told(self) -> str:
        if self.turn is None:
            return f"Recording prompt {self.prompt + 1}"
        return f"Turn {self.turn + 1}, prompt {self.prompt + 1}: {told(self.shape)}"


def told(shape: Shape | None) -> str:
    return "top_k {}, depth {}, total_tokens {}".format(*shape) if shape else "plain decoding"


def begin(pair: Pair, prompts: list[list[int]], shapes: list[Shape], cost: Cost, max_new_tokens: int) -> Sweep:
    """A sweep of which nothing is done. Raises UserError, one sentence, where it could not be done."""
    if not shapes or not prompts:
        raise UserError("There is nothing to sweep; give a prompt, and total_tokens of no more than the top_k + depth * top_k^2 "
                        "candidates of some tree in the grid.")
    found = Sweep(created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), max_new_tokens=max_new_tokens,
                  prompts=[list(ids) for ids in prompts], shapes=shapes, cost=cost, recorded=[], ran=[])
    for ids in prompts:
        check_input(pair, ids, largest(found))
    return found


def largest(sweep: Sweep) -> DecodeConfig:
    """The settings that a prompt is recorded with: all others are within."""
    top_k, depth, total = (max(column) for column in zip(*sweep.shapes))
    return _config(sweep, (top_k, depth, total))


def go_on(pair: Pair, sweep: Sweep, best: int = 3, turns: int = 3) -> Iterator[Step]:
    """Do what is left of a sweep, adding to it; yields before each step and, while a prompt is recorded, after each
    round. Stop whenever you like: what is in the sweep is whole. Raises UserError, DecodeError among them."""
    prompts, known = len(sweep.prompts), {one.prompt for one in sweep.recorded}
    half = prompts / (prompts + turns * prompts * (best + 1) / 2)  # of all the time, roughly: a recording is two runs
    for number, ids in enumerate(sweep.prompts):
        if number not in known:
            for share in _record(pair, sweep, number, ids):
                yield Step(half * (number + share) / prompts, number)
    if not sweep.rounds:
        raise UserError("Nothing was drafted: the target ended every answer with its first token; try other prompts.")
    shapes: list[Shape | None] = [None, *sweep.promising(best)]
    ran = {(run.prompt, run.turn, run.shape) for run in sweep.ran}
    spoken = {one.prompt for one in sweep.recorded if one.rounds}
    jobs = [(number, turn, shape) for turn in range(turns) for number in sorted(spoken)
            for shape in _rotated(shapes, turn + number)]
    for done, job in enumerate(jobs):
        number, turn, shape = job
        if job in ran:
            continue
        yield Step(half + (1 - half) * done / len(jobs), *job)
        sweep.ran.append(_run(pair, sweep, number, turn, shape))


def _record(pair: Pair, sweep: Sweep, number: int, ids: list[int]) -> Iterator[float]:
    builder = TraceBuilder()
    for event in stream(pair, ids, largest(sweep)):
        builder.add(event)
        if isinstance(event, CacheCommitted):
            yield min(1.0, builder.document["rounds"][-1]["cache"]["length_after"] / (len(ids) + sweep.max_new_tokens))
    trace = builder.trace
    shapes = [tuple(shape) for shape in sweep.shapes]
    accepted = sums(WhatIf(trace), shapes) if trace.rounds else [(0, 0)] * len(shapes)
    sweep.recorded.append(Recorded(prompt=number, rounds=len(trace.rounds), accepted=accepted))


def _run(pair: Pair, sweep: Sweep, number: int, turn: int, shape: Shape | None) -> Ran:
    """A run on the clock, from the end of the prompt on. A short one before it warms up."""
    config, ids = _config(sweep, shape), sweep.prompts[number]
    for most in (min(4, sweep.max_new_tokens), sweep.max_new_tokens):
        tokens, rounds, start = 0, 0, time.perf_counter()
        for stage in decoder.rounds.at_once(pair, ids, config.but(max_new_tokens=most)):
            if isinstance(stage, decoder.Prefilled):
                start = time.perf_counter()
            elif isinstance(stage, decoder.Committed):
                tokens, rounds = tokens + len(stage.token_ids), rounds + 1
        seconds = time.perf_counter() - start
    return Ran(prompt=number, turn=turn, shape=shape, tokens=tokens, seconds=seconds, rounds=rounds)


def _config(sweep: Sweep, shape: Shape | None) -> DecodeConfig:
    more = {"max_new_tokens": sweep.max_new_tokens}
    if shape is None:
        return DecodeConfig("plain", **more)
    knobs = dict(zip(("top_k", "depth", "total_tokens"), shape))
    return DecodeConfig("eagle2", **knobs, draft_vocab=sweep.cost.draft_vocab, **more)


def _rotated(shapes: list, by: int) -> list:
    """Another one first in each turn: what a turn begins with is not always the same."""
    by %= len(shapes)
    return [*shapes[by:], *shapes[:by]]
