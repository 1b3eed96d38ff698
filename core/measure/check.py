"""Is it lossless? The same prompt decoded plainly by the same target, compared token for token, each at its moment."""

from __future__ import annotations

import time
from collections.abc import Iterator

import torch

from .. import decoder
from ..config import DecodeConfig
from ..model.pair import Pair
from ..trace.events import PlainDecoded, PromptRead, RunChecked
from ..trace.show import counted
from ..trace.summary import NO_CHECK
from ..trace.words import Words
from .plain import steps


def check(pair: Pair, prompt_ids: list[int], config: DecodeConfig, token_ids: list[int], cancelled: bool = False) -> dict:
    """The `check` part of a trace for a run that emitted `token_ids`, made at once: see `comparing`."""
    *_, last = comparing(pair, prompt_ids, config, token_ids, cancelled)
    return last.check


def comparing(pair: Pair, prompt_ids: list[int], config: DecodeConfig, token_ids: list[int],
              cancelled: bool = False) -> Iterator[PromptRead | PlainDecoded | RunChecked]:
    """Decode plainly what a run decoded that emitted `token_ids`, and compare token for token, neither more nor fewer; the last
    event says what was found. Whoever closes it early has not compared.

    Only two runs may hold less than plain decoding: one that was cancelled, and one whose next round had no room.
    Greedy runs only: two sampled runs differ by chance, what they share is a distribution, and tests compare that.
    """
    found = _uncompared(config, token_ids) or (yield from _compare(pair, prompt_ids, config, token_ids, cancelled))
    words = Words(pair.tokenizer).new([token for token, _ in found["choices"]])
    yield RunChecked(found | {"note": pair.remark(found["note"])}, words)


def _uncompared(config: DecodeConfig, token_ids: list[int]) -> dict | None:
    if not config.greedy:
        return NO_CHECK | {"note": "sampled: the distribution is the target's, one run cannot show it"}
    return None if token_ids else NO_CHECK | {"note": "nothing was decoded"}


def _compare(pair: Pair, prompt_ids: list[int], config: DecodeConfig, token_ids: list[int], cancelled: bool):
    # As in decoder.rounds: the last token emitted is a root that no cache holds yet
    no_room = len(prompt_ids) + len(token_ids) - 1 + config.positions > pair.target.context
    clock: list[float] = []
    found = None
    for step, spent in _timed(steps(pair, prompt_ids, config)):
        if isinstance(step, decoder.Reading):
            yield PromptRead(step.read, step.total)
            continue
        (logits, token), place = step, len(clock)
        clock.append(round(spent, 6))
        yield PlainDecoded(place, token, clock[-1])
        if place == len(token_ids):
            if not (cancelled or no_room):
                found = _differs(place, f"this run ended after {counted(place, 'token')}, plain decoding goes on with token {token}")
            break
        if token != token_ids[place]:
            found = _differs(place, _near_tie(pair, logits, place, token, token_ids[place]))
            found["choices"] = [(i, round(float(logits[i]), 6)) for i in (token, token_ids[place])]
            break
    else:
        if (place := len(clock)) < len(token_ids):
            found = _differs(place, f"plain decoding ended after {counted(place, 'token')}, this run goes on with token "
                                    f"{token_ids[place]}")
    same = {"lossless": True, "note": f"{counted(len(token_ids), 'token')} equal to plain greedy decoding of the same target"}
    return NO_CHECK | (found or same) | {"tokens": len(clock), "seconds": clock[-1], "clock": clock}


def _timed(steps: Iterator) -> Iterator[tuple[object, float]]:
    """Each step with the seconds that all so far took: what their listener does meanwhile is nobody's decoding."""
    spent, resumed = 0.0, time.perf_counter()
    for step in steps:
        spent += time.perf_counter() - resumed
        yield step, spent
        resumed = time.perf_counter()


def _differs(place: int, note: str) -> dict:
    return {"lossless": False, "first_difference": place, "note": note}


def _near_tie(pair: Pair, logits: torch.Tensor, place: int, plain_token: int, our_token: int) -> str:
    a, b = float(logits[plain_token]), float(logits[our_token])
    note = f"token {place}: plain decoding chose {plain_token} (logit {a:.6g}), this run {our_token} (logit {b:.6g} there)"
    if pair.target.dtype is torch.float32:
        return note
    return note + f"; {abs(a - b):.3g} apart, a near-tie in {str(pair.target.dtype).removeprefix('torch.')} arithmetic"
