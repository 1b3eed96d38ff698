"""EAGLE-1/2 heads from disk: `config.json` beside `model.safetensors` or `pytorch_model.bin`, the official layout.

Every tensor is accounted for: a missing, surplus or misshapen one is refused by its name.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from transformers.models.llama.configuration_llama import LlamaConfig

from .draft import EagleHead
from .files import CheckpointError, quiet_transformers, read_json, reason
from .target import Target


def load_head(directory: Path, target: Target) -> EagleHead:
    """An EAGLE-1/2 head (`config.json` beside `model.safetensors` or `pytorch_model.bin`) for this target."""
    raw = read_json(directory / "config.json")
    tensors = _read_tensors(directory)
    if any(name.startswith("midlayer.") or name in ("d2t", "t2d") for name in tensors):
        raise CheckpointError(f"The head in {directory} is an EAGLE-3 head; this decoder reads EAGLE-1/2 heads so far.")
    for key, ours in (("hidden_size", target.hidden_size), ("vocab_size", target.vocab_size)):
        if key in raw and raw[key] != ours:
            raise CheckpointError(f"The head in {directory} does not fit the target: its {key} is {raw[key]!r}, the target's "
                                  f"is {ours}; use the head that was trained for this target.")
    try:
        with quiet_transformers():
            head = EagleHead(_head_config(raw, target), target.model.model.embed_tokens, bias="fc.bias" in tensors)
    except Exception as error:  # many hands check these numbers
        raise CheckpointError(f"{directory / 'config.json'} does not describe a head ({reason(error)}); copy the head "
                              "again.") from None
    if raw.get("bias", True) != ("fc.bias" in tensors):
        raise CheckpointError(f"The head in {directory} has {'no ' * ('fc.bias' not in tensors)}fc.bias, its config.json says "
                              f"\"bias\": {str(raw.get('bias', True)).lower()} (true where absent); one of them is wrong.")
    _adopt_embedding(tensors, head, target, directory)
    _check_tensors(tensors, head, directory)
    head.load_state_dict(tensors)
    head.frequent = _frequent(directory, target)
    return head.requires_grad_(False)


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


def _read_tensors(directory: Path) -> dict[str, Tensor]:
    safe, pickled = directory / "model.safetensors", directory / "pytorch_model.bin"
    try:
        if safe.exists():
            return load_file(safe)
        if pickled.exists():
            tensors = torch.load(pickled, map_location="cpu", weights_only=True)  # no code from a pickle
            if isinstance(tensors, dict) and all(isinstance(t, Tensor) for t in tensors.values()):
                return tensors
            raise CheckpointError(f"{pickled} is not a dictionary of tensors; copy the head again.")
    except (SafetensorError, pickle.UnpicklingError, EOFError, RuntimeError, OSError) as error:
        raise CheckpointError(f"The head's weights in {directory} are truncated or broken ({reason(error)}); copy them "
                              "again.") from None
    raise CheckpointError(f"{directory} holds neither model.safetensors nor pytorch_model.bin; give a head's directory.")


def _head_config(raw: dict, target: Target) -> LlamaConfig:
    """The head's own shape and rotary settings; the rotary table reaches as far as the target's context.

    rope_theta comes from the head's config, 10000 where absent, never from the target's (official heads rely on it).
    """
    heads = int(raw["num_attention_heads"])
    rope = dict(raw.get("rope_scaling") or raw.get("rope_parameters") or {})
    rope["rope_type"] = rope.pop("type", rope.get("rope_type", "default"))
    rope["rope_theta"] = float(raw.get("rope_theta") or rope.get("rope_theta") or 10000.0)
    config = LlamaConfig(
        hidden_size=target.hidden_size, vocab_size=target.vocab_size, num_hidden_layers=1,
        intermediate_size=int(raw["intermediate_size"]), num_attention_heads=heads,
        num_key_value_heads=int(raw.get("num_key_value_heads") or heads), hidden_act=raw.get("hidden_act", "silu"),
        rms_norm_eps=float(raw.get("rms_norm_eps", 1e-6)), rope_parameters=rope,
        max_position_embeddings=target.context,
    )
    config._attn_implementation = "sdpa"
    return config


def _adopt_embedding(tensors: dict[str, Tensor], head: EagleHead, target: Target, directory: Path) -> None:
    """Official checkpoints carry a copy of the target's embedding: dropped when it is one, used when it is not."""
    copy = tensors.pop("embed_tokens.weight", None)
    if copy is None:
        return
    own = target.model.model.embed_tokens.weight
    if copy.shape != own.shape:
        raise CheckpointError(f"The head in {directory} does not fit the target: its embedding is {list(copy.shape)}, the "
                              f"target's is {list(own.shape)}; use the head that was trained for this target.")
    copy = copy.to(own.dtype)
    if own.device.type == "meta" or not torch.equal(copy, own.cpu()):
        embed = torch.nn.Embedding.from_pretrained(copy.to(head.fc.weight.device), freeze=True)
        object.__setattr__(head, "embed", embed)


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
