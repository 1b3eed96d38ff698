"""The EAGLE-3 head: one decoder layer on three hidden states of the target, with an output and a vocabulary of its own.

Row i holds the embedding of token i+1 and the state of token i: `fc` of the target's features where the target has read
that token, and what the layer itself gave at the parent where it has not (EAGLE-3, section 3; the unrolled training is
what makes this sound). The two are normed apart and attended to side by side, embedding first, so that q, k and v read
rows of twice the width; the state alone goes on beside the attention. What comes out is fed back as it is; a norm and
the head's own lm_head make of it the logits of a draft vocabulary, often a part of the target's.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaMLP, LlamaRMSNorm

from .cache import KVCache, cache_argument
from .head import Head
from .target import Target


class Eagle3Layer(nn.Module):
    """A Llama layer whose attention reads the embedding and the state side by side."""

    def __init__(self, config: LlamaConfig, norm_before_residual: bool):
        super().__init__()
        width, eps = config.hidden_size, config.rms_norm_eps
        self.norm_before_residual = norm_before_residual
        self.self_attn = LlamaAttention(config, layer_idx=0)
        for name, heads in (("q_proj", config.num_attention_heads), ("k_proj", config.num_key_value_heads),
                            ("v_proj", config.num_key_value_heads)):
            setattr(self.self_attn, name, nn.Linear(2 * width, heads * config.head_dim, bias=False))
        self.mlp = LlamaMLP(config)
        self.input_layernorm = LlamaRMSNorm(width, eps)            # of the embedding
        self.hidden_norm = LlamaRMSNorm(width, eps)                # of the state
        self.post_attention_layernorm = LlamaRMSNorm(width, eps)

    def beside(self, embedded: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
        """What q, k and v read [batch, rows, 2 * hidden], and what goes on beside them [batch, rows, hidden]."""
        normed = self.hidden_norm(states)
        x = torch.cat([self.input_layernorm(embedded), normed], dim=-1)
        return x, normed if self.norm_before_residual else states

    def forward(self, embedded: Tensor, states: Tensor, **attention) -> Tensor:
        x, residual = self.beside(embedded, states)
        h = residual + self.self_attn(x, **attention)[0]
        return h + self.mlp(self.post_attention_layernorm(h))


class Eagle3Head(Head):
    """fc, one layer, norm and lm_head. Parameters are named as in official files.

    `taps` are the boundaries of the target's stack that it reads, `ids` the tokens of its draft vocabulary by their
    place in its logits, None where that is the target's own. lm_head: the target's, for a head that has none of its
    own. Other programs train variants: norm_before_residual, norm_before_fc (all features as one, before fc), fc_norm
    (each feature by itself), norm_output (fed back after the norm).
    """

    kind = "eagle3"
    brings_vocabulary = True

    def __init__(self, config: LlamaConfig, embed: nn.Module, taps: tuple[int, ...], feature_size: int, words: int,
                 lm_head: nn.Module | None = None, norm_before_residual: bool = False, norm_before_fc: bool = False,
                 fc_norm: bool = False, norm_output: bool = False):
        super().__init__(config, embed)
        self.taps, width, eps = taps, config.hidden_size, config.rms_norm_eps
        self.norm_output = norm_output
        self.input_norm = LlamaRMSNorm(len(taps) * feature_size, eps) if norm_before_fc else None
        self.fc_norm = nn.ModuleList(LlamaRMSNorm(feature_size, eps) for _ in taps) if fc_norm else None
        self.fc = nn.Linear(len(taps) * feature_size, width, bias=False)
        self.midlayer = Eagle3Layer(config, norm_before_residual)
        self.norm = LlamaRMSNorm(width, eps)
        if lm_head is None:
            self.lm_head = nn.Linear(width, words, bias=False)
        else:
            object.__setattr__(self, "lm_head", lm_head)  # not registered: it is the target's
        self._cache_argument = cache_argument(LlamaAttention.forward)

    def enter(self, features: Tensor) -> Tensor:
        if self.input_norm is not None:
            features = self.input_norm(features)
        if self.fc_norm is not None:
            parts = features.chunk(len(self.taps), dim=-1)
            features = torch.cat([norm(part) for norm, part in zip(self.fc_norm, parts)], dim=-1)
        return self.fc(features)

    def forward(self, token_ids: Tensor, states: Tensor, position_ids: Tensor, mask: Tensor,
                cache: KVCache | None = None) -> Tensor:
        cached = {} if cache is None else {self._cache_argument: cache}
        out = self.midlayer(self.embed(token_ids).to(states), states, attention_mask=mask,
                            position_embeddings=self.rotary(states, position_ids), **cached)
        return self.norm(out) if self.norm_output else out

    def attended(self, token_ids: Tensor, states: Tensor) -> tuple[nn.Module, Tensor]:
        return self.midlayer.self_attn, self.midlayer.beside(self.embed(token_ids).to(states), states)[0]

    def logits(self, states: Tensor) -> Tensor:
        """[..., hidden] -> [..., words]."""
        return self.lm_head(states if self.norm_output else self.norm(states))

    def output(self, target: Target, draft_vocab: int = 0):
        assert not draft_vocab, "an EAGLE-3 head has a vocabulary of its own"
        return self.logits, self.ids
