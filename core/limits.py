"""What a run may ask of a pair: ids within the vocabulary, room in the context, rows in the caches."""

from __future__ import annotations

from .config import DecodeConfig
from .errors import DecodeError
from .model.attention import NAME
from .model.pair import Pair


def check_input(pair: Pair, prompt_ids: list[int], config: DecodeConfig) -> None:
    """Raises DecodeError, one sentence, where the prompt and the settings do not fit the pair."""
    vocab, context = pair.target.vocab_size, pair.target.context
    if pair.target.attention not in (NAME, "sdpa", "eager"):
        raise DecodeError(f"The attention of {pair.name} is set to {pair.target.attention}, which takes no mask of a "
                          "tree; run pair.target.model.set_attn_implementation(\"sdpa\").")
    ours, theirs = (str(dtype).removeprefix("torch.") for dtype in (pair.target.dtype, pair.head.dtype))
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
    if config.bounds.children > pair.words:
        whose = f"{pair.name} has only {vocab}" if pair.words == vocab else \
            f"the draft vocabulary of the head of {pair.name} has only {pair.words}"
        raise DecodeError(f"A node has {config.bounds.children} children in {config.told()}, but {whose} tokens; ask for "
                          "fewer.")
    if config.draft_vocab and pair.head.brings_vocabulary:
        raise DecodeError(f"draft_vocab is {config.draft_vocab}, but the head of {pair.name} brings its own draft "
                          f"vocabulary of {pair.words} tokens along; give 0.")
    if config.draft_vocab > len(pair.head.frequent):
        raise DecodeError(f"draft_vocab is {config.draft_vocab}, but the head of {pair.name} ranks "
                          f"{len(pair.head.frequent) or 'no'} tokens by frequency; give "
                          + (f"at most {len(pair.head.frequent)}, or 0." if pair.head.frequent else "0 (all tokens)."))
    room = context - config.positions
    if room < 1:
        raise DecodeError(f"A round of {config.told()} reaches {config.bounds.depth} tokens beyond its root, but the context of "
                          f"{pair.name} is {context} tokens; ask for a tree that is at most {max(context - 2, 0)} deep.")
    if len(prompt_ids) > room:
        raise DecodeError(f"The prompt has {_count(len(prompt_ids))} tokens, but the context of {pair.name} is "
                          f"{_count(context)} and a round of {config.told()} needs {config.positions} of it; shorten the prompt "
                          f"to {_count(room)} tokens" + (", or draft a tree that is less deep." if config.bounds.depth else "."))


def _count(number: int) -> str:
    return f"{number:,}" if number > 9999 else str(number)


def rows_needed(pair: Pair, prompt_length: int, config: DecodeConfig) -> int:
    """Rows that either cache can need at once: all committed tokens and, behind them, what a round writes and drops: the
    tree in the target's cache, the drafted rows that were fed in the head's. One size serves both; the head keeps one token
    fewer than the target (its rows are `fresh`: all but the prompt's first).

    The last round begins with a token to go and its root not in the cache yet: two fewer than are wanted in all.
    """
    bounds = config.bounds
    before = min(prompt_length + config.max_new_tokens - 2, pair.target.context - config.positions)
    return max(before, prompt_length) + max(bounds.rows, bounds.head_rows)
