"""EAGLE-1/2 heads in the official layout, fitted to their target; `head_files.py` reads the folder.

Every tensor is accounted for: a missing, surplus or misshapen one is refused by its name.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import torch
from torch import Tensor
from transformers.models.llama.configuration_llama import LlamaConfig

from ..common.files import CheckpointError, quiet_transformers, read_json, reason
from ..model.head import EagleHead
from ..model.target import Target
from .head_files import read_head

ROPE = ("rope_scaling", "rope_parameters", "rope_theta", "original_max_position_embeddings")
PADDING = 1024  # tokens: vocabularies are padded to a multiple that is no larger


def load_head(directory: Path, target: Target, target_embedding: bool = False) -> EagleHead:
    """An EAGLE-1/2 head for this target. Raises CheckpointError.

    Where it brings an embedding that is not the target's, it drafts with its own and its `note` says so, a sentence;
    target_embedding takes the target's instead.
    """
    raw, tensors = read_head(directory)
    for key, ours in (("hidden_size", target.hidden_size), ("vocab_size", target.vocab_size)):
        if key in raw and raw[key] != ours and not (key == "vocab_size" and _may_be_padded(raw[key], ours, tensors)):
            raise CheckpointError(f"The head in {directory} does not fit the target: its {key} is {raw[key]!r}, the target's "
                                  f"is {ours}; use the head that was trained for this target.")
    try:
        with quiet_transformers():
            head = EagleHead(_head_config(raw, target, tensors), target.model.model.embed_tokens, bias="fc.bias" in tensors)
    except Exception as error:  # many hands check these numbers
        raise CheckpointError(f"{directory / 'config.json'} does not describe a head ({reason(error)}); copy the head "
                              "again.") from None
    if raw.get("bias", True) != ("fc.bias" in tensors):
        raise CheckpointError(f"The head in {directory} has {'no ' * ('fc.bias' not in tensors)}fc.bias, its config.json says "
                              f"\"bias\": {str(raw.get('bias', True)).lower()} (true where absent); one of them is wrong.")
    _adopt_embedding(tensors, head, target, directory, target_embedding)
    _check_tensors(tensors, head, directory)
    head.load_state_dict(tensors)
    head.frequent = _frequent(directory, target)
    return head.requires_grad_(False)


def _may_be_padded(theirs, ours: int, tensors: dict[str, Tensor]) -> bool:
    """Can two vocabularies differ by padding only? With an embedding in the head its rows will tell; without one, the
    target's may be a little larger: the head reads the target's rows and has none of its own."""
    return type(theirs) is int and ("embed_tokens.weight" in tensors or 0 < ours - theirs < PADDING)


def _frequent(directory: Path, target: Target) -> tuple[int, ...]:
    """Token ids by descending frequency from draft_vocab.json, where the head ships one."""
    path = directory / "draft_vocab.json"
    if not path.exists():
        return ()
    ids = read_json(path).get("token_ids")
    if not isinstance(ids, list) or not all(type(i) is int and 0 <= i < target.vocab_size for i in ids) \
            or len(set(ids)) != len(ids):
        raise CheckpointError(f"{path} should hold different token ids below {target.vocab_size} under \"token_ids\"; copy "
                              "the head again, or delete the file.")
    return tuple(ids)


def _head_config(raw: dict, target: Target, tensors: dict[str, Tensor]) -> LlamaConfig:
    """The head's own shape and rotary settings, lengths included; the target's max_position_embeddings where it has none.

    The width of an attention head is what its tensors say: configs are often the target's, with the target's width.
    rope_theta comes from the head's config, 10000 where absent, never from the target's (official heads rely on it);
    where it is said twice, transformers' order holds, as for targets: the rope's parameters before the key beside them.
    """
    heads = int(raw["num_attention_heads"])
    query = tensors.get("layers.0.self_attn.q_proj.weight")
    width = target.hidden_size if query is None or len(query) % heads else len(query)
    rope = {key: raw[key] for key in ROPE if raw.get(key) is not None}
    config = LlamaConfig(
        hidden_size=target.hidden_size, vocab_size=target.vocab_size, num_hidden_layers=1,
        intermediate_size=int(raw["intermediate_size"]), num_attention_heads=heads,
        num_key_value_heads=int(raw.get("num_key_value_heads") or heads), hidden_act=raw.get("hidden_act", "silu"),
        head_dim=width // heads, rms_norm_eps=float(raw.get("rms_norm_eps", 1e-6)),
        max_position_embeddings=raw.get("max_position_embeddings") or target.model.config.max_position_embeddings,
        **deepcopy(rope),  # as it stands there: transformers sorts out what is said twice, or beside it as in Phi-3
    )
    config._attn_implementation = "sdpa"
    return config


def _adopt_embedding(tensors: dict[str, Tensor], head: EagleHead, target: Target, directory: Path,
                     target_embedding: bool) -> None:
    """Official checkpoints carry a copy of the target's embedding: dropped when it is one, used (and said) when it is
    not, unless the target's is asked for."""
    copy = tensors.pop("embed_tokens.weight", None)
    if copy is None:
        return
    own = target.model.model.embed_tokens.weight
    if copy.shape != own.shape:
        shared = min(len(copy), len(own))
        if copy.shape[1:] == own.shape[1:] and (target_embedding or _equal_rows(copy[:shared], target) == shared):
            return  # one of the two vocabularies is padded
        raise CheckpointError(f"The head in {directory} does not fit the target: its embedding is {list(copy.shape)}, the "
                              f"target's is {list(own.shape)}; use the head that was trained for this target.")
    if target_embedding or (equal := _equal_rows(copy, target)) == len(copy):
        return
    embed = torch.nn.Embedding.from_pretrained(copy.to(head.fc.weight.device, own.dtype), freeze=True)
    object.__setattr__(head, "embed", embed)
    head.note = (f"The head in {directory} drafts with an embedding of its own, equal to the target's in {equal:,} of "
                 f"{len(copy):,} rows, though heads are trained with the target's; --target-embedding takes that one.")


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


def _check_tensors(tensors: dict[str, Tensor], head: EagleHead, directory: Path) -> None:
    expected = head.state_dict()
    for name in sorted(expected.keys() - tensors.keys()):
        raise CheckpointError(f"The head in {directory} lacks the tensor {name}; it is not in the EAGLE-1/2 layout.")
    for name in sorted(tensors.keys() - expected.keys()):
        raise CheckpointError(f"The head in {directory} has a tensor too many, {name}; it is not in the EAGLE-1/2 layout.")
    for name, tensor in sorted(tensors.items()):
        if tensor.shape != expected[name].shape:
            raise CheckpointError(f"The head in {directory} has {name} as {list(tensor.shape)}, its config.json and the "
                                  f"target ask for {list(expected[name].shape)}; use the head of this target.")
        if not tensor.is_floating_point():
            raise CheckpointError(f"The head in {directory} has {name} as {str(tensor.dtype).removeprefix('torch.')}, not "
                                  "as floating-point numbers; give a head that is not quantised.")
