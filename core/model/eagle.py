"""The EAGLE-1/2 head: one decoder layer that guesses the target's next hidden state from the last one.

Input row i is fc([embedding of token i+1 ; feature of token i]): the head sees one token further than its
feature (EAGLE, section 3.1; embedding first). Its output is the next feature, and the target's own lm_head turns
that into a token.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

from .cache import KVCache, cache_argument
from .head import Head
from .linear import layer_of, speed_up
from .target import Target


class EagleHead(Head):
    """fc and one Llama layer without an input norm (the features are normed already); no norm after it either.

    `frequent` ranks token ids by how often the target writes them, for a draft vocabulary; empty where the head ships
    no ranking.
    """

    kind = "eagle"
    frequent: tuple[int, ...] = ()

    def __init__(self, config: LlamaConfig, embed: nn.Module, bias: bool):
        super().__init__(config, embed)
        self.fc = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=bias)
        self.layers = nn.ModuleList([LlamaDecoderLayer(config, layer_idx=0)])
        self.layers[0].input_layernorm = nn.Identity()
        self._cache_argument = cache_argument(LlamaDecoderLayer.forward)

    def forward(self, token_ids: Tensor, states: Tensor, position_ids: Tensor, mask: Tensor,
                cache: KVCache | None = None) -> Tensor:
        x = self._entered(token_ids, states)
        cached = {} if cache is None else {self._cache_argument: cache, "use_cache": True}
        return self.layers[0](x, attention_mask=mask, position_ids=position_ids,
                              position_embeddings=self.rotary(x, position_ids), **cached)

    def attended(self, token_ids: Tensor, states: Tensor) -> tuple[nn.Module, Tensor]:
        return self.layers[0].self_attn, self.layers[0].input_layernorm(self._entered(token_ids, states))

    def output(self, target: Target, draft_vocab: int = 0):
        """The target's own lm_head, or its rows for the draft_vocab most frequent tokens."""
        if not draft_vocab:
            return target.logits, None
        ids = torch.tensor(self.frequent[:draft_vocab], device=self.device)
        return speed_up(layer_of(target.output_rows(ids)), private=True), ids

    def _entered(self, token_ids: Tensor, states: Tensor) -> Tensor:
        """What goes into the layer -> [batch, rows, hidden]."""
        embedded = self.embed(token_ids).to(states)
        return self.fc(torch.cat([embedded, states], dim=-1))
