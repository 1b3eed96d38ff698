"""Is it lossless? The same prompt decoded plainly by the same target, compared token for token."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from ..config import DecodeConfig
from ..model.pair import Pair
from ..pairs.fetch import Progress, silent
from ..trace.show import counted
from .plain import plain


def check(pair: Pair, prompt_ids: list[int], config: DecodeConfig, token_ids: list[int], cancelled: bool = False,
          progress: Progress = silent) -> dict:
    """The `check` part of a trace for a run that emitted `token_ids`: token for token, and neither more nor fewer.

    Only two runs may hold less than plain decoding: one that was cancelled, and one whose next round had no room.
    Greedy runs only: two sampled runs differ by chance, what they share is a distribution, and tests compare that.
    """
    spent = Spent()
    found = _compare(pair, prompt_ids, config, token_ids, cancelled, progress, spent)
    return found | {"note": pair.remark(found["note"]), "tokens": spent.tokens, "seconds": spent.seconds}


@dataclass(slots=True)
class Spent:
    """What plain decoding wrote and took."""

    tokens: int | None = None
    seconds: float | None = None


def _compare(pair: Pair, prompt_ids: list[int], config: DecodeConfig, token_ids: list[int], cancelled: bool,
             progress: Progress, spent: Spent) -> dict:
    if not config.greedy:
        return {"lossless": None, "first_difference": None,
                "note": "sampled: the distribution is the target's, one run cannot show it"}
    if not token_ids:
        return {"lossless": None, "first_difference": None, "note": "nothing was decoded"}
    # As in decoder.rounds: the last token emitted is a root that no cache holds yet
    no_room = len(prompt_ids) + len(token_ids) - 1 + config.positions > pair.target.context

    def reading(read: int, total: int) -> None:
        progress(f"Reading the prompt again, plainly: {read:,} of {total:,} tokens", read / (total + 1))

    compared, start = 0, time.perf_counter()
    for place, (logits, token) in enumerate(plain(pair, prompt_ids, config, reading=reading)):
        spent.tokens, spent.seconds = place + 1, time.perf_counter() - start
        progress(f"Comparing with plain decoding: {place:,} of {len(token_ids):,} tokens", place / (len(token_ids) + 1))
        if place == len(token_ids):
            if cancelled or no_room:
                break
            return _differs(place, f"this run ended after {counted(place, 'token')}, plain decoding goes on with "
                                   f"token {token}")
        if token != token_ids[place]:
            return _differs(place, _near_tie(pair, logits, place, token, token_ids[place]))
        compared += 1
    if compared < len(token_ids):
        return _differs(compared, f"plain decoding ended after {counted(compared, 'token')}, this run goes on with token "
                                  f"{token_ids[compared]}")
    return {"lossless": True, "first_difference": None,
            "note": f"{counted(compared, 'token')} equal to plain greedy decoding of the same target"}


def _differs(place: int, note: str) -> dict:
    return {"lossless": False, "first_difference": place, "note": note}


def _near_tie(pair: Pair, logits: torch.Tensor, place: int, plain_token: int, our_token: int) -> str:
    a, b = float(logits[plain_token]), float(logits[our_token])
    note = f"token {place}: plain decoding chose {plain_token} (logit {a:.6g}), this run {our_token} (logit {b:.6g} there)"
    if pair.target.dtype is torch.float32:
        return note
    return note + f"; {abs(a - b):.3g} apart, a near-tie in {str(pair.target.dtype).removeprefix('torch.')} arithmetic"
