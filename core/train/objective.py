"""What a head is trained on: its forward over whole rows, fed with its own features, and the loss.

At decoding time a drafted node's feature is the head's own output, not the target's, and so are the
keys of its drafted ancestors. Training sees the same thing when the head is unrolled: step 1 runs on
the target's features, step j on step j - 1's output (HASS, arXiv 2408.15766; the "training-time test" of EAGLE-3,
arXiv 2503.01840). Pure functions of weights and tensors; knows no files, no optimiser, no schedule.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def unroll(head, embeddings: Tensor, features: Tensor, steps: int, dtype: torch.dtype) -> list[Tensor]:
    """The head over rows of text, `steps` times in a row.

    embeddings [B, N, H]: row r holds the embedding of token r + 1;  features [B, N, H]: row r holds the
    target's feature of token r (EAGLE, section 3.1; embedding first in `fc`). Returns `steps` tensors [B, N, H]:
    each predicts at row r the target's feature of token r + 1. At step j row r reads step j - 1's output
    of row r - 1, attends to true-feature keys up to row r - j + 1, and beyond them to the keys that the
    earlier steps made for rows r - j + 2 .. r - 1, and to its own. The first j - 1 rows of step j have no such past:
    they read true features, and no loss may be taken there.
    """
    layer, config = head.layers[0], head.config
    w = {name: p.to(dtype) for name, p in layer.named_parameters()}
    fc = head.fc.weight.to(dtype)
    bias = None if head.fc.bias is None else head.fc.bias.to(dtype)
    batch, length, width = features.shape
    heads, kv = config.num_attention_heads, config.num_key_value_heads
    size, group = config.head_dim, heads // kv
    cos, sin = (t[0].to(dtype) for t in head.rotary(features, torch.arange(length, device=features.device)[None]))
    causal = torch.ones(length, length, dtype=torch.bool, device=features.device).tril()

    def project(x, name, count):  # [B, N, H] -> [B, count, N, D]
        return F.linear(x, w[f"self_attn.{name}_proj.weight"]).view(batch, length, count, size).transpose(1, 2)

    embedded = F.linear(embeddings.to(dtype), fc[:, :width], bias)  # the same at every step
    features = features.to(dtype)
    keys, values, outputs = [], [], []
    for step in range(steps):
        if step:
            features = torch.cat([features[:, :1], outputs[-1][:, :-1]], 1)
        x = embedded + F.linear(features, fc[:, width:])
        q = rotate(project(x, "q", heads), cos, sin).reshape(batch, kv, group * length, size)
        keys.append(rotate(project(x, "k", kv), cos, sin))
        values.append(project(x, "v", kv))

        seen = causal.tril(-step)  # true-feature keys: rows up to r - step
        seen = torch.cat([causal[:step], seen[step:]])  # rows without a past of their own stay causal
        scores = q @ keys[0].transpose(-1, -2) * size**-0.5  # [B, kv, group * N, N]
        scores = scores.view(batch, kv, group, length, length).masked_fill(~seen, float("-inf"))
        q = q.view(batch, kv, group, length, size)
        own = []  # one more column a step: the key that step m made for row r - (step - m)
        for m in range(1, step + 1):
            column = (q * shift(keys[m], step - m)[:, :, None]).sum(-1, keepdim=True) * size**-0.5
            own.append(column.masked_fill(torch.arange(length, device=q.device)[:, None] < step, float("-inf")))
        p = torch.softmax(torch.cat([scores, *own], -1), -1)  # softmax keeps float32 sums inside
        mixed = p[..., :length].reshape(batch, kv, group * length, length) @ values[0]
        mixed = mixed.view(batch, kv, group, length, size)
        for m in range(1, step + 1):
            mixed = mixed + p[..., length + m - 1, None] * shift(values[m], step - m)[:, :, None]
        mixed = mixed.permute(0, 3, 1, 2, 4).reshape(batch, length, heads * size)
        h = x + F.linear(mixed, w["self_attn.o_proj.weight"])
        n = F.rms_norm(h, (width,), w["post_attention_layernorm.weight"], config.rms_norm_eps)
        gated = F.silu(F.linear(n, w["mlp.gate_proj.weight"])) * F.linear(n, w["mlp.up_proj.weight"])
        outputs.append(h + F.linear(gated, w["mlp.down_proj.weight"]))
    return outputs


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of x [..., N, D], Llama's halves convention."""
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat([-high, low], -1) * sin


def shift(x: Tensor, by: int) -> Tensor:
    """x [..., N, D] -> row r holds row r - by; the first rows are zero."""
    return x if by == 0 else F.pad(x, (0, 0, by, 0))[..., : x.shape[-2], :]


class SoftCrossEntropy(torch.autograd.Function):
    """Sum over positions of -sum_v p_v log q_v, and its gradient, both in one pass.

    Every [positions, vocabulary] array is made for a few positions at a time and dropped: they
    would otherwise cost more memory traffic than the matrix products cost arithmetic.
    """

    CHUNK = 128

    @staticmethod
    def forward(ctx, features, teacher, best, weight, need_gradient):
        """features [P, H], teacher [P, V] probabilities, best [P] their argmax, weight [V, H] (frozen) -> two sums:

        the loss, and the positions where the likeliest token is `best`.
        """
        loss, agreement = torch.zeros((), device=features.device), torch.zeros((), device=features.device)
        gradient = torch.empty_like(features) if need_gradient else None
        for at in range(0, len(features), SoftCrossEntropy.CHUNK):
            part = slice(at, at + SoftCrossEntropy.CHUNK)
            z = (features[part] @ weight.T).float()
            p, q = teacher[part].float(), torch.softmax(z, -1)
            top = z.argmax(-1, keepdim=True)
            log_sum = z.gather(1, top) - q.gather(1, top).log()  # log sum exp z, from what is there already
            loss += log_sum.sum() - torch.dot(p.flatten(), z.flatten())
            agreement += (top[:, 0] == best[part]).sum()
            if need_gradient:
                gradient[part] = q.sub_(p).to(weight.dtype) @ weight
        ctx.gradient = gradient
        return loss, agreement

    @staticmethod
    def backward(ctx, from_loss, _):
        return ctx.gradient * from_loss.to(ctx.gradient.dtype), None, None, None, None


def head_loss(head, embedding, lm_head, tokens, features, scored, *, steps, noise=None, feature_weight, decay, dtype):
    """The loss of a batch, summed, not averaged: whoever calls divides by `count`.

    tokens [B, T] ids; features [B, T, H] of the target; scored [B, T] bool: drafting token t is trained.
    embedding [V, H] and lm_head [U, H] are the target's, frozen; U may be a frequent part of the vocabulary
    (then the target's distribution is renormalised over it). noise [B, T, H] is added to the features that
    go in. Each unrolled step weighs `decay` times the one before. Per position:
    soft cross-entropy + feature_weight * smooth L1 averaged over H (EAGLE, section 3.2).

    Returns (loss, count, agreements): count = scored positions; agreements [steps] of step j = positions where
    the head's and the target's likeliest tokens are the same.
    """
    inputs = features[:, :-1] if noise is None else features[:, :-1] + noise[:, :-1]
    outputs = unroll(head, embedding[tokens[:, 1:]], inputs, steps, dtype)
    where = predicted(scored)
    where[:, : steps - 1] = False  # no past to draft from
    wanted = features[:, 1:][where].to(dtype)  # [P, H]
    with torch.no_grad():
        parts = wanted.split(SoftCrossEntropy.CHUNK)  # of nothing: one empty part
        teacher = [torch.softmax((part @ lm_head.T).float(), -1) for part in parts]
        best = torch.cat([part.argmax(-1) for part in teacher])
        teacher = torch.cat([part.to(dtype) for part in teacher])  # [P, U]
    loss, agreements = 0.0, []
    for step, output in enumerate(outputs):
        got = output[where]
        entropy, agreement = SoftCrossEntropy.apply(got, teacher, best, lm_head, got.requires_grad)
        distance = F.smooth_l1_loss(got.float(), wanted.float(), reduction="sum") / wanted.shape[1]
        loss = loss + decay**step * (entropy + feature_weight * distance)
        agreements.append(agreement)
    return loss / sum(decay**step for step in range(steps)), len(wanted), torch.stack(agreements)


def predicted(scored: Tensor) -> Tensor:
    """scored [B, T] by token -> [B, T - 1] by head row: row r predicts token r + 2, the last one past the text."""
    return torch.cat([scored[:, 2:], scored[:, -1:]], 1)


@torch.no_grad()
def chain_lengths(head, embedding, lm_head, ids, tokens, features, scored, steps: int, dtype) -> Tensor:
    """How many tokens in a row a self-fed greedy draft gets right, from every scored start. -> [P] ints, 0..steps.

    The row's own text is the truth, so it should be text written at temperature 0. ids [U] names the
    tokens of lm_head's rows. A proxy of the accepted length of a chain draft; a tree does better.
    """
    outputs = unroll(head, embedding[tokens[:, 1:]], features[:, :-1], steps, dtype)
    starts = predicted(scored)[:, : tokens.shape[1] - 1 - steps].clone()  # every token of the chain is in the text
    alive = torch.ones_like(starts)
    lengths = torch.zeros_like(starts, dtype=torch.int64)
    span = starts.shape[1]
    for step, output in enumerate(outputs):
        parts = output[:, step : step + span].reshape(-1, output.shape[-1]).split(256)
        said = torch.cat([ids[(part @ lm_head.T).argmax(-1)] for part in parts])
        alive = alive & (said.view_as(starts) == tokens[:, step + 2 : step + 2 + span])
        lengths += alive
    return lengths[starts]
