"""Plain decoding of a pair's target, token by token with its logits: what every run is held against.

The same decoder under the policy `plain`; knows nothing of traces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torch import Tensor

from .. import decoder
from ..config import DecodeConfig
from ..model.pair import Pair
from ..verify import Chance


def plain(pair: Pair, prompt_ids: list[int], config: DecodeConfig, chance: Chance | None = None,
          reading: Callable[[int, int], object] = lambda read, total: None) -> Iterator[tuple[Tensor, int]]:
    """The logits [vocab] and the token that follows from them, a pair for each token of the run that `config` asks for, whatever
    its policy. `reading` hears how many tokens of a long prompt have been read, and of how many. Raises DecodeError."""
    logits = None
    for stage in decoder.rounds.at_once(pair, prompt_ids, config.plainly(), chance):
        match stage:
            case decoder.Reading():
                reading(stage.read, stage.total)
            case decoder.Prefilled():
                reading(len(prompt_ids), len(prompt_ids))
                yield stage.logits, stage.token_ids[0]
            case decoder.Verified():
                logits = stage.logits[0]
            case decoder.Committed():
                yield logits, stage.token_ids[0]
