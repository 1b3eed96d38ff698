"""Listening to a run: the stages of `decoder.rounds` as events, and the trace that they add up to.

This is the only place where tensors become plain values and ids become words; a run that nobody listens to
(`generate`) does not come by here.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import numpy as np
import torch
import transformers
from torch import Tensor

from .. import decoder
from ..config import DecodeConfig
from ..errors import DecodeError
from ..model.pair import Pair
from ..model.steps import memory_for
from ..tree import Layer, Tree
from ..verify import Accepted
from ..version import __version__
from .document import Trace
from .events import (
    CacheCommitted,
    Event,
    LayerDrafted,
    PathAccepted,
    PromptRead,
    RootDecided,
    RoundStarted,
    RunFinished,
    RunStarted,
    TraceBuilder,
    TreePruned,
    TreeVerified,
)
from .inputs import Prompt, ready
from .summary import NO_CHECK, Totals
from .words import Text, Words

TOP = 5  # the target's likeliest tokens recorded per row


class DecodeInterrupted(DecodeError):
    """A run that broke off; `trace` holds what was decoded before, marked cancelled."""

    def __init__(self, sentence: str, trace: Trace):
        super().__init__(sentence)
        self.trace = trace


def stream(pair: Pair, prompt_ids: Prompt, config: DecodeConfig | None = None, prompt: str | None = None,
           chance=None) -> Iterator[Event]:
    """Decode and yield every event as it happens; `close()` stops the run cleanly.

    prompt_ids: ids of shape [n] or [1, n], as a list, tensor, array, iterator or a tokenizer's encoding.
    prompt: the text that the ids came from, for the record. Raises DecodeError for input that cannot be decoded.
    """
    prompt_ids, config = ready(pair, prompt_ids, config, prompt)
    return _Recorder(pair, prompt_ids, config, prompt).events(decoder.rounds(pair, prompt_ids, config, chance))


def decode(pair: Pair, prompt_ids: Prompt, config: DecodeConfig | None = None, prompt: str | None = None) -> Trace:
    """Decode to the end and return the trace. Raises DecodeError; a run that breaks off raises DecodeInterrupted,
    which carries the trace so far."""
    prompt_ids, config = ready(pair, prompt_ids, config, prompt)
    builder = TraceBuilder()
    try:
        with memory_for(pair, prompt_ids, config):
            for event in stream(pair, prompt_ids, config, prompt):
                builder.add(event)
    except DecodeError as error:
        if not builder.document:
            raise
        if "output" not in builder.document:
            builder.cancel()
        raise DecodeInterrupted(str(error), builder.trace) from error
    return builder.trace


def generate(pair: Pair, prompt_ids: Prompt, config: DecodeConfig | None = None) -> list[int]:
    """Decode without recording: the emitted token ids. Raises DecodeError."""
    emitted: list[int] = []
    for stage in decoder.rounds.at_once(pair, *ready(pair, prompt_ids, config)):
        if isinstance(stage, decoder.Prefilled | decoder.Committed):
            emitted += stage.token_ids
    return emitted


class _Recorder:
    def __init__(self, pair: Pair, prompt_ids: list[int], config: DecodeConfig, prompt: str | None):
        self.pair, self.prompt_ids, self.config = pair, prompt_ids, config
        self.words, self.text = Words(pair.tokenizer), Text(pair.tokenizer, prompt_ids)
        self.prompt = prompt if prompt is not None else self._prompt_text()
        self.totals = Totals()
        self.emitted: list[int] = []

    def _prompt_text(self) -> str:
        if self.pair.tokenizer is None:
            return ""
        return self.pair.tokenizer.decode(self.prompt_ids, clean_up_tokenization_spaces=False)

    def events(self, stages: Iterator[decoder.Stage]) -> Iterator[Event]:
        with memory_for(self.pair, self.prompt_ids, self.config):  # plain values take memory too
            yield from self._events(stages)

    def _events(self, stages: Iterator[decoder.Stage]) -> Iterator[Event]:
        new, prefill = self.words.new, 0.0
        unchecked = NO_CHECK | {"note": self.pair.remark(NO_CHECK["note"])}
        yield RunStarted(
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            producer={"name": "treeviz", "version": __version__, "torch": torch.__version__,
                      "transformers": transformers.__version__},
            pair=self.pair.describe(), config=self.config.to_dict(),
            prompt={"text": self.prompt, "token_ids": self.prompt_ids}, vocabulary=new(self.prompt_ids),
            check=unchecked,
        )
        for stage in stages:
            match stage:
                case decoder.Reading():
                    yield PromptRead(stage.read, stage.total)
                case decoder.Prefilled():
                    prefill = stage.seconds
                    yield RootDecided(*self._emit(stage.token_ids), new(stage.token_ids))
                case decoder.Started():
                    prefix, layers = stage.prefix_length, []
                    yield RoundStarted(stage.index, prefix, stage.root, new([stage.root]))
                case Layer():
                    layers.append(self._drafted(len(layers), stage))
                    yield layers[-1]
                case Tree():
                    drafted = len(stage.token) - 1
                    yield _pruned(stage, prefix)
                case decoder.Verified():
                    yield self._verified(stage)
                case Accepted():
                    draws = [{"node": d.node, "p": d.p, "r": d.r, "accepted": d.accepted} for d in stage.draws]
                    rule = "greedy" if self.config.greedy else self.config.drafting.rule
                    yield PathAccepted(rule, stage.row, stage.path, len(stage.path) - 1, draws, stage.bonus,
                                       stage.path[-1], new([stage.bonus]))
                case decoder.Committed():
                    parent = [above for layer in layers for above in layer.parent]
                    passes = sum(layer.passes for layer in layers)
                    self.totals.add(len(stage.kept) - 1, drafted, parent, passes, stage.seconds)
                    yield CacheCommitted(stage.kept, stage.length_before, stage.length_after, stage.seconds,
                                         *self._emit(stage.token_ids))
                case decoder.Ended():
                    self.text.add([], last=True)
                    output = {"token_ids": self.emitted, "text": self.text.text, "finish_reason": stage.finish_reason}
                    yield RunFinished(output, self.totals.summary(len(self.emitted), prefill), unchecked)

    def _emit(self, token_ids: list[int]) -> tuple[list[int], list[str]]:
        self.emitted += token_ids
        return token_ids, [self.text.add([i]) for i in token_ids]

    def _drafted(self, number: int, layer: Layer) -> LayerDrafted:
        token, parent = torch.stack([layer.token, layer.parent]).tolist()
        log_prob, score = _digits(torch.stack([layer.log_prob, layer.score]))
        return LayerDrafted(number, layer.expanded.tolist(), token, parent, log_prob, score, layer.selected.tolist(),
                            layer.passes, self.words.new(token))

    def _verified(self, stage: decoder.Verified) -> TreeVerified:
        """Probabilities at the run's temperature, before top-p and top-k."""
        logits = stage.logits.float()
        p = (logits if self.config.greedy else logits / self.config.temperature).softmax(dim=-1)  # [rows, vocab]
        best, ids = _chosen_first(p, *_top(p, min(TOP, p.shape[-1])), stage.argmax.to(p.device))  # [rows, 5]
        parent, token = (column[1:].to(p.device) for column in (stage.tree.parent, stage.tree.token))
        own = p[parent, token]                                                     # [rows - 1]
        ids, argmax = ids.tolist(), stage.argmax.tolist()
        best, own = best.nan_to_num(0.0), own.nan_to_num(0.0)  # of a row that is not finite nothing is known
        top = [[list(pair) for pair in zip(row, share)] for row, share in zip(ids, _digits(best))]
        seen = self.words.new(argmax + [i for row in ids for i in row])
        return TreeVerified(argmax, [1.0, *_digits(own)], top, seen)


def _pruned(tree: Tree, prefix: int) -> TreePruned:
    packed = np.packbits(tree.mask.numpy(), axis=1)
    return TreePruned(
        candidate=tree.candidate.tolist(), parent=tree.parent.tolist(), depth=tree.depth.tolist(),
        position_ids=(tree.depth + prefix).tolist(), mask=[row.tobytes().hex() for row in packed],
        retrieve_indices=tree.retrieve_indices.tolist(), cutoff=round(tree.cutoff, 6) if len(tree.token) > 1 else None,
    )


def _top(p: Tensor, count: int, block: int = 128) -> tuple[Tensor, Tensor]:
    """p.topk(count) along the last axis, by way of block maxima: eight times as fast on a CPU, where the plain one
    would be most of what recording costs. The `count` best are in the `count` blocks with the best maxima."""
    rows, vocab = p.shape
    if vocab % block or vocab // block < count:
        return p.topk(count, dim=-1)
    blocks = p.view(rows, -1, block)
    chosen = blocks.amax(dim=-1).topk(count, dim=-1).indices                       # [rows, count]
    best, place = blocks[torch.arange(rows, device=p.device)[:, None], chosen].flatten(1).topk(count, dim=-1)
    return best, chosen.gather(1, place // block) * block + place % block


def _chosen_first(p: Tensor, best: Tensor, ids: Tensor, argmax: Tensor) -> tuple[Tensor, Tensor]:
    """The likeliest tokens [rows, count] with the target's choice [rows] in front, also where others are as likely."""
    if torch.equal(ids[:, 0], argmax):
        return best, ids
    chosen = ids == argmax[:, None]  # in a row where it is not among them, all of them are as likely as it is
    ids = ids.gather(1, chosen.long().argsort(dim=1, descending=True, stable=True))
    ids[:, 0] = argmax
    return p.gather(1, ids), ids


def _digits(values: Tensor) -> list:
    """As Python floats with six decimals: what float32 can vouch for, at half the file's size."""
    return np.round(values.double().cpu().numpy(), 6).tolist()
