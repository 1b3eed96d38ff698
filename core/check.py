"""Is it lossless? The same prompt decoded plainly by the same target, compared token for token."""

from __future__ import annotations

import torch

from .config import DecodeConfig
from .decoder import plain
from .pair import Pair


def check(pair: Pair, prompt_ids: list[int], config: DecodeConfig, token_ids: list[int]) -> dict:
    """The `check` part of a trace for a run that emitted `token_ids`.

    Greedy runs only: two sampled runs differ by chance, what they share is a distribution, and tests compare that.
    """
    if not config.greedy:
        return {"lossless": None, "first_difference": None,
                "note": "sampled: the distribution is the target's, one run cannot show it"}
    if not token_ids:
        return {"lossless": None, "first_difference": None, "note": "nothing was decoded"}
    for place, (logits, token) in enumerate(plain(pair, prompt_ids, config)):
        if place == len(token_ids):
            break  # a run that met the context limit may stop a few tokens before plain decoding does
        if token != token_ids[place]:
            return {"lossless": False, "first_difference": place,
                    "note": _near_tie(pair, logits, place, token, token_ids[place])}
    return {"lossless": True, "first_difference": None,
            "note": f"{len(token_ids)} tokens equal to plain greedy decoding of the same target"}


def _near_tie(pair: Pair, logits: torch.Tensor, place: int, plain_token: int, our_token: int) -> str:
    a, b = float(logits[plain_token]), float(logits[our_token])
    note = f"token {place}: plain decoding chose {plain_token} (logit {a:.6g}), this run {our_token} (logit {b:.6g} there)"
    if pair.target.dtype is torch.float32:
        return note
    return note + f"; {abs(a - b):.3g} apart, a near-tie in {str(pair.target.dtype).removeprefix('torch.')} arithmetic"
