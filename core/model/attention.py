"""Attention of a piece of a long prompt on a CPU, without a mask.

A row of the piece sees every row before the piece, and of the piece those up to its own. As one masked product that is
half as fast as PyTorch's causal attention, which knows its mask by heart, and a mask is as long as all that was read.
So the two parts are attended to apart, one without a mask, one causal, and put together by their weights' sums. Query
heads that share a key are rows beside each other: a long past is never copied for them.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "treeviz"  # as transformers knows `attend`


def attend(module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **how):
    """transformers' own attention, but for a piece: that is what comes with a mask of one place for all the keys.
    Nothing is remembered between calls, so that runs in several threads may share a model."""
    if mask is not None and mask.shape[-1] == 1 < key.shape[2]:
        return attend_piece(module, query, key, value, **how)
    return sdpa_attention_forward(module, query, key, value, mask, **how)


def attend_piece(module, query: Tensor, key: Tensor, value: Tensor, scaling: float | None = None, **__):
    """As transformers asks for it: query [1, heads, rows, dim], key and value [1, kv_heads, before + rows, dim]
    -> [1, rows, heads, dim], and no weights."""
    _, heads, rows, dim = query.shape
    kv_heads, before = key.shape[1], key.shape[2] - rows
    ours = [x[:, :, before:].repeat_interleave(heads // kv_heads, dim=1) for x in (key, value)]
    own, own_sum = _flash(query, *ours, is_causal=True, scale=scaling)             # [1, heads, rows, dim], [1, heads, rows]
    past, past_sum = _flash(query.reshape(1, kv_heads, -1, dim), key[:, :, :before], value[:, :, :before], scale=scaling)
    share = torch.sigmoid(past_sum.reshape(own_sum.shape) - own_sum)[..., None]    # the sums are logarithms
    return torch.lerp(own, past.reshape(own.shape), share).transpose(1, 2).contiguous(), None


def _flash(query: Tensor, key: Tensor, value: Tensor, **how) -> tuple[Tensor, Tensor]:
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(query, key, value, **how)


@functools.cache
def can_attend() -> bool:
    """The operator that also gives the sums is an internal one of PyTorch: where it has changed, we do without."""
    query, key = torch.randn(1, 4, 3, 8), torch.randn(1, 2, 5, 8)
    mask = torch.ones(3, 5, dtype=torch.bool).tril(2)
    try:
        ours = attend_piece(None, query, key, key)[0].transpose(1, 2)
    except (AttributeError, RuntimeError, TypeError):
        return False
    return torch.allclose(ours, F.scaled_dot_product_attention(query, key, key, mask, enable_gqa=True), atol=1e-5)


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)
