"""What a run may ask of a pair: ids within the vocabulary, room in the context, rows in the caches."""

from __future__ import annotations

from ..config import DecodeConfig
from ..errors import DecodeError
from ..model.attention import NAME
from ..model.pair import Pair


def check_input(pair: Pair, prompt_ids: list[int], config: DecodeConfig) -> None:
    """Raises DecodeError, one sentence, where the prompt and the settings do not fit the pair."""
    vocab, context = pair.target.vocab_size, pair.target.context
    if pair.target.attention not in (NAME, "sdpa", "eager"):
        raise DecodeError(f"The attention of {pair.name} is set to {pair.target.attention}, which takes no mask of a "
                          "tree; run pair.target.model.set_attn_implementation(\"sdpa\").")
    ours, theirs = (str(dtype).removeprefix("torch.") for dtype in (pair.target.dtype, pair.head.fc.weight.dtype))
    if ours != theirs:
        raise DecodeError(f"The target of {pair.name} is in {ours} and its head in {theirs}; turn both, pair.target.model "
                          "and pair.head, or load the pair with that dtype.")
    if not prompt_ids:
        raise DecodeError("The prompt is empty; give at least one token.")
    for token in prompt_ids:
        if not 0 <= token < vocab:
            raise DecodeError(f"Token id {token} of the prompt is outside the vocabulary of {pair.name}; "
                              f"ids run from 0 to {vocab - 1}.")
    for token in config.stop_ids:
        if token >= vocab:
            raise DecodeError(f"Stop id {token} is outside the vocabulary of {pair.name}; ids run from 0 to {vocab - 1}.")
    if config.top_k > vocab:
        raise DecodeError(f"top_k is {config.top_k}, but {pair.name} has only {vocab} tokens; lower top_k.")
    if config.draft_vocab > len(pair.head.frequent):
        raise DecodeError(f"draft_vocab is {config.draft_vocab}, but the head of {pair.name} ranks "
                          f"{len(pair.head.frequent) or 'no'} tokens by frequency; give "
                          + (f"at most {len(pair.head.frequent)}, or 0." if pair.head.frequent else "0 (all tokens)."))
    room = context - config.positions
    if room < 1:
        raise DecodeError(f"depth is {config.depth}, but the context of {pair.name} is {context} tokens and a round needs "
                          f"depth + 2 of them beside the prompt; lower depth to {max(context - 3, 0)} or less.")
    if len(prompt_ids) > room:
        raise DecodeError(f"The prompt has {_count(len(prompt_ids))} tokens, but the context of {pair.name} is "
                          f"{_count(context)} and a round at depth {config.depth} needs {config.positions} of it; shorten the prompt to "
                          f"{_count(room)} tokens" + (" or lower depth." if config.depth else "."))


def _count(number: int) -> str:
    return f"{number:,}" if number > 9999 else str(number)


def rows_needed(pair: Pair, prompt_length: int, config: DecodeConfig) -> int:
    """Rows that either cache can need at once: all committed tokens and, behind them, what a round writes and drops:
    the tree in the target's cache, the beams in the head's. One size serves both.

    The head keeps one token fewer than the target (its rows are `fresh`: all but the prompt's first) and then reads
    top_k beam nodes in each of depth passes; the last layer's children are scored, never read. So depth * top_k rows.
    """
    committed = min(prompt_length + config.max_new_tokens + config.depth + 1, pair.target.context)
    return committed + max(config.total_tokens + 1, config.depth * config.top_k)
