"""The EAGLE head: one decoder layer that guesses the target's next hidden state from the last one.

Input row i is fc([embedding of token i+1 ; feature of token i]): the head sees one token further than its
feature (EAGLE, section 3.1; embedding first). Its output is the next feature, and the target's own lm_head turns
that into a token. Weights are those of EAGLE-1/2; reading them from disk is `checkpoint.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding, apply_rotary_pos_emb

from .cache import KVCache, cache_argument, finite_only
from .linear import layer_of, speed_up
from .rope import without_memory
from .target import Target


class EagleHead(nn.Module):
    """fc and one Llama layer without an input norm (the features are normed already); no norm after it either.

    `embed` is the target's embedding, shared and never part of the head's own weights. `frequent` ranks token ids by
    how often the target writes them, for a draft vocabulary; empty where the head ships no ranking. `note` is a sentence
    that its user should read, "" where there is none.
    """

    frequent: tuple[int, ...] = ()
    note: str = ""

    def __init__(self, config: LlamaConfig, embed: nn.Module, bias: bool):
        super().__init__()
        self.config = config
        self.fc = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=bias)
        self.layers = nn.ModuleList([LlamaDecoderLayer(config, layer_idx=0)])
        self.layers[0].input_layernorm = nn.Identity()
        self.rotary = without_memory(LlamaRotaryEmbedding(config))
        self._cache_argument = cache_argument(LlamaDecoderLayer.forward)
        object.__setattr__(self, "embed", embed)  # not registered: it is the target's, and stays out of state_dict

    def forward(self, token_ids: Tensor, features: Tensor, position_ids: Tensor, mask: Tensor,
                cache: KVCache | None = None) -> Tensor:
        """One pass over rows: token_ids [batch, rows], features [batch, rows, hidden], position_ids [1, rows],
        mask bool (or additive) [batch or 1, 1, rows, keys] -> predicted next features [batch, rows, hidden]."""
        x = self._entered(token_ids, features)
        cached = {} if cache is None else {self._cache_argument: cache, "use_cache": True}
        return self.layers[0](x, attention_mask=mask, position_ids=position_ids,
                              position_embeddings=self.rotary(x, position_ids), **cached)

    def remember(self, token_ids: Tensor, features: Tensor, position_ids: Tensor, cache: KVCache) -> None:
        """Write the keys and values of rows whose predictions nobody asks for (shapes as in `forward`).

        The head has one layer: its keys and values come from the rows' own input, so nothing is attended to here, and
        a long prompt costs the head next to nothing.
        """
        x, attention = self._entered(token_ids, features), self.layers[0].self_attn
        x = self.layers[0].input_layernorm(x)
        key, value = (project(x).unflatten(-1, (-1, attention.head_dim)).transpose(1, 2)
                      for project in (attention.k_proj, attention.v_proj))          # [batch, kv_heads, rows, head_dim]
        cache.update(apply_rotary_pos_emb(key, key, *self.rotary(x, position_ids))[1], value, 0)

    def _entered(self, token_ids: Tensor, features: Tensor) -> Tensor:
        """What goes into the layer -> [batch, rows, hidden]."""
        embedded = self.embed(token_ids).to(features)
        return self.fc(torch.cat([embedded, features], dim=-1))


class Idle:
    """In a drafter's place where nothing is drafted: it remembers nothing."""

    def remember(self, token_ids: list[int], features: Tensor) -> None:
        pass


class Drafter:
    """A head at work on one sequence: `observe` what the target made certain, then `probe` what may follow.

    The cache keeps only rows made from the target's true features. Rows of drafted tokens live behind them for
    the round and are forgotten at the next `observe` (the official code's `stable_kv`).
    """

    def __init__(self, head: EagleHead, target: Target, capacity: int, draft_vocab: int = 0):
        weight = head.fc.weight
        config = head.config
        self.head, self.device, self.lm_head = head, weight.device, target.logits
        self._ids = None
        if draft_vocab:  # a smaller output: its logits, and its places, are those of these tokens only
            self._ids = torch.tensor(head.frequent[:draft_vocab], device=self.device)
            self.lm_head = speed_up(layer_of(target.output_rows(self._ids)), private=True)
        self.cache = KVCache([weight.device], config.num_key_value_heads, config.head_dim, capacity, weight.dtype)
        self.cache.guard = finite_only  # one drafted token that is not finite leaves the others what they are

    def observe(self, token_ids: list[int] | Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """Read true features [rows, hidden], each with the token that followed it.

        -> the head's feature after the last row [1, hidden] and its logits [1, vocab].
        """
        self.cache.release()
        rows, before = len(token_ids), self.cache.length
        mask = torch.ones(rows, before + rows, dtype=torch.bool).tril(diagonal=before)
        positions = torch.arange(before, before + rows)  # one less than the tokens' own: the features' positions
        out = self._pass(self.head, torch.as_tensor(token_ids, dtype=torch.long), features, positions, mask)[0]
        self.cache.commit(rows)
        return out[-1:], self.lm_head(out[-1:])

    def remember(self, token_ids: list[int], features: Tensor) -> None:
        """Read true features as `observe` does, where more of them follow before anything is drafted."""
        rows, before = len(token_ids), self.cache.length
        positions = torch.arange(before, before + rows)
        self._pass(self.head.remember, torch.as_tensor(token_ids, dtype=torch.long), features, positions)
        self.cache.commit(rows)

    def probe(self, token_ids: Tensor, features: Tensor, mask: Tensor, depth: int | Tensor) -> tuple[Tensor, Tensor]:
        """Read drafted tokens [rows] with their parents' predicted features [rows, hidden].

        mask [rows, probed so far + rows]: which drafted rows each may see; true rows are always visible. depth: of the
        rows in the tree, where the root's children have 1; one number, or a number each [rows]
        -> features [rows, hidden] and logits [rows, vocab].
        """
        rows, true_rows = len(token_ids), self.cache.length
        visible = torch.cat([mask.new_ones(rows, true_rows), mask], dim=1)
        # one less than the tokens' own positions, as in `observe`: the root's feature stands at true_rows - 1
        positions = torch.full((rows,), true_rows - 1) + depth
        out = self._pass(self.head, token_ids, features, positions, visible)[0]
        self.cache.hold(rows)
        return out, self.lm_head(out)

    def token_ids(self, places: Tensor) -> Tensor:
        """The token ids of places in the logits: the places themselves without a draft vocabulary."""
        return places if self._ids is None else self._ids[places]

    def _pass(self, read, token_ids, features, positions, *mask):
        move = {"device": self.device, "non_blocking": True}
        return read(*(x.to(**move)[None] for x in (token_ids, features, positions)),
                    *(x.to(**move)[None, None] for x in mask), cache=self.cache)
