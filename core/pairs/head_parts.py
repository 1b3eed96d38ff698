"""What the loaders of every kind of head share: its shape as transformers' config, its embedding, its tensors by
name."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path

import torch
from torch import Tensor
from transformers.models.llama.configuration_llama import LlamaConfig

from ..common.files import CheckpointError
from ..model.head import Head
from ..model.target import Target

ROPE = ("rope_scaling", "rope_parameters", "rope_theta", "original_max_position_embeddings")


def head_config(raw: dict, target: Target, query: Tensor | None, hidden_size: int) -> LlamaConfig:
    """The head's own shape and rotary settings, lengths included; the target's max_position_embeddings where it has
    none.

    The width of an attention head is what its tensors say (query: the weight of q_proj): configs are often the
    target's, with the target's width. rope_theta comes from the head's config, 10000 where absent, never from the
    target's (official heads rely on it); where it is said twice, transformers' order holds, as for targets: the rope's
    parameters before the key beside them.
    """
    heads = int(raw["num_attention_heads"])
    width = hidden_size if query is None or len(query) % heads else len(query)
    rope = {key: raw[key] for key in ROPE if raw.get(key) is not None}
    config = LlamaConfig(
        hidden_size=hidden_size, vocab_size=target.vocab_size, num_hidden_layers=1,
        intermediate_size=int(raw["intermediate_size"]), num_attention_heads=heads,
        num_key_value_heads=int(raw.get("num_key_value_heads") or heads), hidden_act=raw.get("hidden_act", "silu"),
        head_dim=width // heads, rms_norm_eps=float(raw.get("rms_norm_eps", 1e-6)),
        max_position_embeddings=raw.get("max_position_embeddings") or target.model.config.max_position_embeddings,
        **deepcopy(rope),  # as it stands there: transformers sorts out what is said twice, or beside it as in Phi-3
    )
    config._attn_implementation = "sdpa"
    return config


def adopt_embedding(tensors: dict[str, Tensor], head: Head, target: Target, directory: Path,
                    target_embedding: bool) -> None:
    """Official checkpoints carry a copy of the target's embedding: dropped when it is one, used (and said) when it is
    not, unless the target's is asked for. Takes it out of the tensors."""
    copy = tensors.pop("embed_tokens.weight", None)
    if copy is None:
        return
    own = target.model.model.embed_tokens.weight
    if copy.shape != own.shape:
        shared = min(len(copy), len(own))
        if copy.shape[1:] == own.shape[1:] and (target_embedding or _equal_rows(copy[:shared], target) == shared):
            return  # one of the two vocabularies is padded
        raise CheckpointError(f"The head in {directory} does not fit the target: its embedding is {list(copy.shape)}, "
                              f"the target's is {list(own.shape)}; use the head that was trained for this target.")
    if target_embedding or (equal := _equal_rows(copy, target)) == len(copy):
        return
    give_embedding(head, copy, own.dtype)
    head.notes += (f"The head in {directory} drafts with an embedding of its own, equal to the target's in {equal:,} "
                   f"of {len(copy):,} rows, though heads are trained with the target's; --target-embedding takes that "
                   "one.",)


def give_embedding(head: Head, weight: Tensor, dtype: torch.dtype) -> None:
    """An embedding [vocab, hidden] of the head's own in place of the target's."""
    embed = torch.nn.Embedding.from_pretrained(weight.to(head.device, dtype), freeze=True)
    object.__setattr__(head, "embed", embed)


def _equal_rows(copy: Tensor, target: Target, block: int = 4096) -> int:
    """How many rows [vocab, hidden] are the target's embedding, but for the rounding of half precision."""
    equal, largest = 0, torch.finfo(torch.float16).max
    for start in range(0, len(copy), block):
        ids = torch.arange(start, min(start + block, len(copy)))
        ours = target.model.model.embed_tokens(ids.to(target.device)).float()  # as a call: offloaded weights come back
        theirs = copy[start : start + block].to(ours)
        ours, theirs = (x.clamp(-largest, largest) for x in (ours, theirs))    # beyond it float16 has infinity only
        close = torch.isclose(theirs, ours, rtol=2.0**-8, atol=2.0**-24, equal_nan=True)
        equal += int(close.all(dim=1).sum())
    return equal


def fill(head: Head, tensors: dict[str, Tensor], directory: Path, layout: str) -> None:
    """Load the tensors, all of them and nothing else. layout: what lacks or has one too many, for the sentence. Raises
    CheckpointError."""
    expected = head.state_dict()
    for name in sorted(expected.keys() - tensors.keys()):
        raise CheckpointError(f"The head in {directory} lacks the tensor {name}; it is not in the {layout} layout.")
    for name in sorted(tensors.keys() - expected.keys()):
        raise CheckpointError(f"The head in {directory} has a tensor too many, {name}; it is not in the {layout} "
                              "layout.")
    for name, tensor in sorted(tensors.items()):
        if tensor.shape != expected[name].shape:
            raise CheckpointError(f"The head in {directory} has {name} as {list(tensor.shape)}, its config.json and "
                                  f"the target ask for {list(expected[name].shape)}; use the head of this target.")
    refuse_integers(directory, tensors.items())
    head.load_state_dict(tensors)


def refuse_integers(directory: Path, tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Raises CheckpointError where a weight is not in floating-point numbers."""
    for name, tensor in sorted(tensors):
        if not tensor.is_floating_point():
            raise CheckpointError(f"The head in {directory} has {name} as {str(tensor.dtype).removeprefix('torch.')}, "
                                  "not as floating-point numbers; give a head that is not quantised.")
