"""What every head is to those who draft with it, whatever its kind, and a head at work on one sequence.

A head reads two things of a token: the embedding of the token after it, and its state. Of tokens that the target has
read, the state comes from the target's own features (`taps` says which); of drafted ones, it is what the head gave at
the parent. Kinds are `eagle.py` and `eagle3.py`; reading their files is `core/pairs`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from .cache import KVCache, finite_only
from .rope import context_of, without_memory
from .target import Target


class Head(nn.Module):
    """One decoder layer with a fully connected layer `fc` before it.

    `embed` is usually the target's embedding, shared and never part of the head's own weights. `notes` are sentences
    that its user should read. `ids` [words] are the tokens that it can say, by their place in its logits; None: all of
    the target's, as they stand.
    """

    kind: str
    taps: tuple[int, ...] = ()  # boundaries of the target's stack that it reads (`Target.features`)
    brings_vocabulary = False   # is its output its own, in a vocabulary that it was trained with?
    frequent: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    fc: nn.Linear

    def __init__(self, config: LlamaConfig, embed: nn.Module):
        super().__init__()
        self.config = config
        self.rotary = without_memory(LlamaRotaryEmbedding(config))
        self.context = context_of(config)  # tokens: the length of text that it was trained for
        self.register_buffer("ids", None, persistent=False)
        object.__setattr__(self, "embed", embed)  # not registered: it is the target's, and stays out of state_dict

    @property
    def device(self) -> torch.device:
        return self.fc.weight.device

    @property
    def dtype(self) -> torch.dtype:
        return self.fc.weight.dtype

    def enter(self, features: Tensor) -> Tensor:
        """The target's features [rows, len(taps) * their width] -> states [rows, hidden]."""
        return features

    def forward(self, token_ids: Tensor, states: Tensor, position_ids: Tensor, mask: Tensor,
                cache: KVCache | None = None) -> Tensor:
        """One pass over rows: token_ids [batch, rows], states [batch, rows, hidden], position_ids [1, rows],
        mask bool (or additive) [batch or 1, 1, rows, keys] -> the states of the rows' tokens [batch, rows, hidden]."""
        raise NotImplementedError

    def attended(self, token_ids: Tensor, states: Tensor) -> tuple[nn.Module, Tensor]:
        """The attention, and what its q, k and v read of these rows."""
        raise NotImplementedError

    def output(self, target: Target, draft_vocab: int = 0) -> tuple[Callable[[Tensor], Tensor], Tensor | None]:
        """What makes logits [..., words] of states [..., hidden], and the token ids of their places, None where the
        places are the ids. draft_vocab: among the target's so many most frequent tokens only, for kinds that rank
        them."""
        raise NotImplementedError

    def remember(self, token_ids: Tensor, states: Tensor, position_ids: Tensor, cache: KVCache) -> None:
        """Write the keys and values of rows whose predictions nobody asks for (shapes as in `forward`).

        The head has one layer: its keys and values come from the rows' own input, so nothing is attended to here, and
        a long prompt costs the head next to nothing.
        """
        attention, x = self.attended(token_ids, states)
        key, value = (project(x).unflatten(-1, (-1, attention.head_dim)).transpose(1, 2)
                      for project in (attention.k_proj, attention.v_proj))          # [batch, kv_heads, rows, head_dim]
        cache.update(apply_rotary_pos_emb(key, key, *self.rotary(x, position_ids))[1], value, 0)


class Idle:
    """In a drafter's place where nothing is drafted: it remembers nothing."""

    def remember(self, token_ids: list[int], features: Tensor) -> None:
        pass


class Drafter:
    """A head at work on one sequence: `observe` what the target made certain, then `probe` what may follow.

    The cache keeps only rows made from the target's own features. Rows of drafted tokens live behind them for
    the round and are forgotten at the next `observe` (the official code's `stable_kv`).
    """

    def __init__(self, head: Head, target: Target, capacity: int, draft_vocab: int = 0):
        config = head.config
        self.head, self.device = head, head.device
        self.logits, self._ids = head.output(target, draft_vocab)
        self.cache = KVCache([head.device], config.num_key_value_heads, config.head_dim, capacity, head.dtype)
        self.cache.guard = finite_only  # one drafted token that is not finite leaves the others what they are

    def observe(self, token_ids: list[int] | Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """Read the target's features [rows, as the head reads them], each with the token that followed it [rows].

        -> the head's state after the last row [1, hidden] and its logits [1, words].
        """
        self.cache.release()
        rows, before = len(token_ids), self.cache.length
        mask = torch.ones(rows, before + rows, dtype=torch.bool).tril(diagonal=before)
        positions = torch.arange(before, before + rows)  # one less than the tokens' own: the features' positions
        out = self._pass(self.head, _ids(token_ids), self._entered(features), positions, mask)[0]
        self.cache.commit(rows)
        return out[-1:], self.logits(out[-1:])

    def remember(self, token_ids: list[int], features: Tensor) -> None:
        """Read features as `observe` does, where more of them follow before anything is drafted."""
        rows, before = len(token_ids), self.cache.length
        self._pass(self.head.remember, _ids(token_ids), self._entered(features), torch.arange(before, before + rows))
        self.cache.commit(rows)

    def probe(self, token_ids: Tensor, states: Tensor, mask: Tensor, depth: int | Tensor) -> tuple[Tensor, Tensor]:
        """Read drafted tokens [rows] with the states that the head gave at their parents [rows, hidden].

        mask [rows, probed so far + rows]: which drafted rows each may see; true rows are always visible. depth: of the
        rows in the tree, where the root's children have 1; one number, or a number each [rows]
        -> states [rows, hidden] and logits [rows, words].
        """
        rows, true_rows = len(token_ids), self.cache.length
        visible = torch.cat([mask.new_ones(rows, true_rows), mask], dim=1)
        # one less than the tokens' own positions, as in `observe`: the root's feature stands at true_rows - 1
        positions = torch.full((rows,), true_rows - 1) + depth
        out = self._pass(self.head, token_ids, states, positions, visible)[0]
        self.cache.hold(rows)
        return out, self.logits(out)

    def token_ids(self, places: Tensor) -> Tensor:
        """The token ids of places in the logits: the places themselves without a draft vocabulary."""
        return places if self._ids is None else self._ids[places]

    def _entered(self, features: Tensor) -> Tensor:
        return self.head.enter(features.to(self.device, non_blocking=True))

    def _pass(self, read, token_ids, states, positions, *mask):
        move = {"device": self.device, "non_blocking": True}
        return read(*(x.to(**move)[None] for x in (token_ids, states, positions)),
                    *(x.to(**move)[None, None] for x in mask), cache=self.cache)


def _ids(token_ids: list[int] | Tensor) -> Tensor:
    return torch.as_tensor(token_ids, dtype=torch.long)
