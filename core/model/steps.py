"""A run in steps: what holds while it works on its next stage, and does not while its listener has the word.

Between two stages a listener may do anything: change weights, decode something else, stop. So what a run needs of
PyTorch and of the model it shares with others is set for each step and put back after it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator

import torch

from ..common.memory import enough_memory, size
from ..config import DecodeConfig
from ..errors import DecodeError
from .linear import refresh
from .pair import Pair
from .threads import threads_for, using


def stepwise(run: Callable) -> Callable:
    """Make a generator function (pair, prompt_ids, config, ...) work in steps: the laid-out weights are copies of the
    weights that it started with, no gradient is kept, its numbers have the pair's dtype and devices whatever
    `torch.autocast` or default device is around it, and memory that runs out is a DecodeError. Entering and leaving a step costs a small model some
    hundredths of its pass: `at_once` is the same as one step, for a caller that does nothing between the stages."""
    @contextlib.contextmanager
    def step(pair: Pair, prompt_ids: list[int], config: DecodeConfig, threads: int, copies: list):
        with (using(threads), memory_for(pair, prompt_ids, config), _new_tensors_on_cpu(),
              torch.inference_mode(), torch.autocast(pair.target.device.type, enabled=False)):
            if not copies:
                copies.append(refresh(pair.target.model, pair.head))
            try:
                for each in copies[0]:
                    each.in_use = True
                yield
            finally:
                for each in copies[0]:
                    each.in_use = False

    @functools.wraps(run)
    def steps(pair: Pair, prompt_ids: list[int], config: DecodeConfig, *rest, **more) -> Iterator:
        threads, copies = threads_for(pair.target.model), []
        with contextlib.closing(run(pair, prompt_ids, config, *rest, **more)) as stages:
            while True:
                with step(pair, prompt_ids, config, threads, copies):
                    stage = next(stages, None)
                if stage is None:
                    return
                yield stage

    def at_once(pair: Pair, prompt_ids: list[int], config: DecodeConfig, *rest, **more) -> Iterator:
        with (contextlib.closing(run(pair, prompt_ids, config, *rest, **more)) as stages,
              step(pair, prompt_ids, config, threads_for(pair.target.model), [])):
            yield from stages

    steps.at_once = at_once
    return steps


def _new_tensors_on_cpu():
    """Where a person has set another default; the context costs each call something, so only then."""
    return contextlib.nullcontext() if torch.get_default_device().type == "cpu" else torch.device("cpu")


def memory_for(pair: Pair, prompt_ids: list[int], config: DecodeConfig):
    """A context in which memory that runs out is a DecodeError with the size wanted and what to lower."""
    def sentence(wanted: str) -> DecodeError:
        rows = len(prompt_ids) + config.max_new_tokens
        return DecodeError(
            f"The memory of {pair.target.device} ran out while {pair.name} decoded: "
            + (wanted or f"the keys and values of {rows:,} tokens alone take {size(rows * pair.target.row_bytes)}")
            + f"; shorten the prompt ({len(prompt_ids):,} tokens), or lower max_new_tokens ({config.max_new_tokens:,})"
            + "".join(f", or {name} ({value})" for name, value in config.knobs.items()
                      if not isinstance(value, list)) + ".")
    return enough_memory(sentence)
