"""The EAGLE-2 loop: prefill, then rounds of draft, verify, accept, commit.

`rounds` reads top to bottom like the paper and yields what each stage made, as tensors. It knows nothing of
text, events or files: `record.py` turns its stages into events for whoever listens, and nobody pays otherwise.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from .config import DecodeConfig
from .errors import DecodeError, PairWarning
from .limits import check_input, rows_needed
from .model.head import Drafter, Idle
from .model.pair import Pair
from .model.steps import stepwise
from .model.target import pieces
from .tree import UNLIKELY, Layer, Tree, flatten, gather
from .verify import Accepted, Chance, accept_greedy, accept_sampling, target_distribution


@dataclass(frozen=True, slots=True)
class Reading:
    read: int   # tokens of a long prompt, in the target's and the head's caches
    total: int


@dataclass(frozen=True, slots=True)
class Prefilled:
    token_ids: list[int]  # the first root: the target has decided it
    logits: Tensor        # [vocab], after the prompt
    seconds: float


@dataclass(frozen=True, slots=True)
class Started:
    index: int
    prefix_length: int  # committed tokens, the root not among them
    root: int


@dataclass(frozen=True, slots=True)
class Verified:
    tree: Tree
    logits: Tensor  # [rows, vocab]
    argmax: Tensor  # [rows], on the CPU


@dataclass(frozen=True, slots=True)
class Committed:
    kept: list[int]
    length_before: int
    length_after: int
    seconds: dict[str, float]
    token_ids: list[int]  # what the round adds to the output: what was accepted, and the bonus


@dataclass(frozen=True, slots=True)
class Ended:
    finish_reason: str


Stage = Reading | Prefilled | Started | Layer | Tree | Verified | Accepted | Committed | Ended


@stepwise
def rounds(pair: Pair, prompt_ids: list[int], config: DecodeConfig, chance: Chance | None = None) -> Iterator[Stage]:
    """Decode, yielding every stage. Raises DecodeError before the first stage for input that cannot be decoded,
    and later where a model's numbers stop being finite. Closing the iterator ends the run."""
    check_input(pair, prompt_ids, config)
    chance = chance or Chance(config.seed)
    output = Output(config, pair.eos_ids)
    target, policy, tick = pair.target, config.drafting, Stopwatch()
    capacity = rows_needed(pair, len(prompt_ids), config)
    drafts = bool(config.bounds.passes)
    cache = target.new_cache(capacity, pair.head.taps if drafts else ())
    drafter = Drafter(pair.head, target, capacity, config.draft_vocab) if drafts else Idle()

    # The head sees one token further than its feature: beside the feature of token i it reads token i + 1. So what is
    # fresh for it is the prompt without its first token, and the root; in later rounds, the path and the next root.
    # `features` has a row for each of them: the prompt's tokens now, later the path's rows, old root first. Of a prompt
    # in pieces the head remembers all it will need, but for the last row.
    prompt, read = torch.tensor(prompt_ids), 0
    for piece in pieces(prompt):
        hidden, features = target.read(piece, cache, len(prompt))
        fresh = prompt_ids[read + 1 : cache.length + 1]
        read = cache.length
        if read < len(prompt):
            drafter.remember(fresh, features)
            tick.lap("prefill")
            yield Reading(read, len(prompt))
            tick.start()
    logits = target.logits(hidden[-1:])[0]
    argmax = _finite_argmax(logits[None], "target", "in the prefill", pair)
    root = chance.pick(_shaped(logits, config)) if not config.greedy else int(argmax[0])
    fresh = [*fresh, root]
    if len(piece) < len(prompt):  # of the last piece too: a mask of its rows over a long prompt is large
        drafter.remember(fresh[:-1], features[:-1])
        fresh, features = fresh[-1:], features[-1:]
    yield Prefilled(output.add([root]), logits, tick.lap("prefill"))

    index, trained_for = 0, pair.head.context if drafts else target.context
    while not output.finish_reason:
        n = cache.length  # the root is not among these rows: the target has said it, but reads it with the tree
        if n + config.positions > target.context:  # the deepest node's position must exist
            output.finish_reason = "context"
            break
        yield Started(index, n, root)
        if n > trained_for:
            warnings.warn(f"The text is longer than the {trained_for} tokens that the head of {pair.name} was trained "
                          "for, so fewer of its drafts will be accepted; what comes out stays right.", PairWarning,
                          stacklevel=1)
            trained_for = target.context
        tick.start()

        layers = []
        for layer in policy.grow(drafter, fresh, features, config):
            layers.append(layer)
            tick.lap("draft")
            yield layer
            tick.start()
        candidates = gather(layers)
        # Not one guess is a number: is that the head, or the root?
        blind = bool(layers) and bool(candidates.score.max() <= UNLIKELY)
        if blind and not all(bool(weight.isfinite().all()) for weight in pair.head.parameters()):
            raise DecodeError(_not_finite("head", f"in round {index + 1}", pair))
        tick.lap("draft")

        tree = flatten(root, candidates, policy.keep(candidates, config))
        tick.lap("tree")
        yield tree
        tick.start()

        logits, features = target.verify(tree, cache)
        argmax, finite, apart = *_choice(logits), {}
        if not finite:  # one drafted row is enough to spoil all of them, though none may see it
            logits, features, sound = target.verify_apart(tree, cache)
            argmax, apart = _choice(logits)[0], {"sound": sound}
            if not sound[0]:  # plain decoding breaks off here too: what follows the root is not known
                output.finish_reason = "cancelled"
                break
        if blind:
            warnings.warn(f"The head of {pair.name} drafts what is not finite and is rejected; check its weights, or use "
                          f"another dtype than {_dtype(pair)}.", PairWarning, stacklevel=1)
        tick.lap("verify")
        yield Verified(tree, logits, argmax)
        tick.start()

        if config.greedy:
            accepted = accept_greedy(tree, argmax, **apart)
        else:
            accepted = accept_sampling(tree, lambda row, logits=logits: _shaped(logits[row], config), chance, **apart)
        tick.lap("accept")
        yield accepted
        tick.start()

        cache.keep(accepted.path)  # root and accepted tokens; the bonus is read next round, as its root
        root, tokens = accepted.bonus, tree.token.tolist()
        if len(accepted.path) < len(tokens):
            features = features[torch.tensor(accepted.path, device=features.device)]  # the true ones: the head starts from them
        fresh = [*(tokens[row] for row in accepted.path[1:]), root]
        tick.lap("commit")
        yield Committed(accepted.path, n, cache.length, tick.take(), output.add(fresh))
        index += 1
    yield Ended(output.finish_reason)
    if output.finish_reason == "cancelled":
        raise DecodeError(_not_finite("target", f"after token {root} in round {index + 1}", pair))


@dataclass(slots=True)
class Output:
    """What the target has decided is out at once: exactly max_new_tokens at most, nothing after the first stop id."""

    config: DecodeConfig
    eos_ids: tuple[int, ...]
    length: int = 0
    finish_reason: str = ""

    def add(self, token_ids: list[int]) -> list[int]:
        """Take decided tokens; returns those that are emitted."""
        for count, token in enumerate(token_ids, start=1):
            self.length += 1
            self.finish_reason = self._stop_reason(token) or (
                "length" if self.length == self.config.max_new_tokens else "")
            if self.finish_reason:
                return token_ids[:count]
        return token_ids

    def _stop_reason(self, token: int) -> str:
        return "eos" if token in self.eos_ids else "stop" if token in self.config.stop_ids else ""


class Stopwatch:
    """Seconds per part of a round; time spent by the listener between stages is not counted.

    A lap ends where the CPU next needs a number from the device, so that on CUDA too it holds the part's work.
    """

    def __init__(self):
        self._seconds: dict[str, float] = {}
        self.start()

    def start(self) -> None:
        self._since = time.perf_counter()

    def lap(self, part: str) -> float:
        now = time.perf_counter()
        self._seconds[part] = self._seconds.get(part, 0.0) + now - self._since
        self._since = now
        return self._seconds[part]

    def take(self) -> dict[str, float]:
        """The parts of the round just ended; starts the next."""
        self._seconds.pop("prefill", None)
        seconds, self._seconds = self._seconds, {}
        return seconds


def _shaped(logits: Tensor, config: DecodeConfig) -> Tensor:
    return target_distribution(logits, config.temperature, config.top_p, config.sample_top_k)


def _choice(logits: Tensor) -> tuple[Tensor, bool]:
    """The target's choice per row, on the CPU, and whether all are numbers: NaN and infinity survive a maximum."""
    best, argmax = logits.max(dim=-1)
    return argmax.cpu(), all(map(math.isfinite, best.tolist()))


def _finite_argmax(logits: Tensor, model: str, when: str, pair: Pair) -> Tensor:
    argmax, finite = _choice(logits)
    if not finite:
        raise DecodeError(_not_finite(model, when, pair))
    return argmax


def _not_finite(model: str, when: str, pair: Pair) -> str:
    return (f"The {model} of {pair.name} gave logits that are not finite {when}; check its weights, or use another "
            f"dtype than {_dtype(pair)}.")


def _dtype(pair: Pair) -> str:
    return str(pair.target.dtype).removeprefix("torch.")
