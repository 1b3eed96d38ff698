"""Plain decoding of a pair's target, token by token with its logits: what every run is held against.

The same decoder under the policy `plain`; knows nothing of traces.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from .. import decoder
from ..config import DecodeConfig
from ..model.pair import Pair
from ..verify import Chance


def plain(pair: Pair, prompt_ids: list[int], config: DecodeConfig, chance: Chance | None = None) -> Iterator[tuple[Tensor, int]]:
    """The logits [vocab] and the token that follows from them, a pair for each token of the run that `config` asks for, whatever
    its policy. Raises DecodeError."""
    return (step for step in steps(pair, prompt_ids, config, chance) if not isinstance(step, decoder.Reading))


def steps(pair: Pair, prompt_ids: list[int], config: DecodeConfig,
          chance: Chance | None = None) -> Iterator[decoder.Reading | tuple[Tensor, int]]:
    """The same, and before it how much of a long prompt has been read."""
    logits = None
    for stage in decoder.rounds.at_once(pair, prompt_ids, config.plainly(), chance):
        match stage:
            case decoder.Reading():
                yield stage
            case decoder.Prefilled():
                yield stage.logits, stage.token_ids[0]
            case decoder.Verified():
                logits = stage.logits[0]
            case decoder.Committed():
                yield logits, stage.token_ids[0]
