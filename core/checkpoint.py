"""Checkpoints in: any Llama that transformers loads as the target, EAGLE-1/2 heads in the official layout.

Nothing is loaded halfway: every tensor of a head is accounted for, and a target whose file lacks a weight is
refused instead of being filled with random numbers. Errors are CheckpointError, one sentence each.
"""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoConfig, AutoTokenizer, GenerationConfig, LlamaForCausalLM
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.utils import logging as transformers_logging

from .draft import EagleHead
from .errors import UserError
from .pair import Pair
from .target import Target

transformers_logging.disable_progress_bar()  # a bar for half a second of loading is noise

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class CheckpointError(UserError):
    """Weights that are missing, broken, or of the wrong kind; the message says which and what to do."""


def load_pair(target: str | os.PathLike, draft: str | os.PathLike, device: str = "auto", dtype: str = "auto",
              device_map: str | None = None, name: str | None = None, target_source: str | None = None,
              draft_source: str | None = None) -> Pair:
    """Load a target and its EAGLE-1/2 head.

    target, draft: a directory or a hub id. device: "auto" takes CUDA where there is one; dtype: "auto" takes
    bfloat16 on CUDA where it is supported, float32 on a CPU. device_map is handed to accelerate for targets
    larger than one GPU. name and the sources are what the trace calls the pair and its weights. Raises CheckpointError.
    """
    target_dir, draft_dir = find(target, "target"), find(draft, "head")
    device, dtype = choose_device(device), choose_dtype(dtype, choose_device(device))
    model = load_target(target_dir, device, dtype, device_map)
    wrapped = Target(model)
    head = load_head(draft_dir, wrapped).to(device=model.lm_head.weight.device
                                            if model.lm_head.weight.device.type != "meta" else device, dtype=dtype)
    return Pair(
        name=name or f"{Path(target_dir).name} + {Path(draft_dir).name}",
        target=wrapped, head=head.eval(), tokenizer=load_tokenizer(target_dir),
        eos_ids=_eos_ids(target_dir, model), target_source=target_source or _public_name(target),
        draft_source=draft_source or _public_name(draft),
    )


def _public_name(source: str | os.PathLike) -> str:
    """A hub id as it is; of a directory only its name, since a trace is shared and paths name people."""
    return str(source) if not Path(source).is_dir() else Path(source).resolve().name


def choose_device(device: str) -> torch.device:
    """"auto", "cpu", "cuda", "cuda:1" -> a device that is there. Raises CheckpointError."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise CheckpointError(f'Device "{device}" is unknown; use auto, cpu, cuda or cuda:N.') from None
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        raise CheckpointError(f'Device "{device}" was asked for, but PyTorch sees {torch.cuda.device_count()} CUDA '
                              "devices; use cpu, or install a CUDA build of PyTorch.")
    if chosen.type not in ("cpu", "cuda"):
        raise CheckpointError(f'Device "{device}" is not supported; use auto, cpu, cuda or cuda:N.')
    return chosen


def choose_dtype(dtype: str, device: torch.device) -> torch.dtype:
    """"auto" or one of float32, bfloat16, float16. Raises CheckpointError."""
    if dtype != "auto":
        if dtype not in DTYPES:
            raise CheckpointError(f'dtype "{dtype}" is unknown; use auto, {", ".join(DTYPES)}.')
        return DTYPES[dtype]
    if device.type == "cpu":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


def find(source: str | os.PathLike, what: str) -> Path:
    """A directory as it is; a hub id from the hub's local cache or the hub. Raises CheckpointError."""
    path = Path(source)
    if path.is_dir():
        return path
    text = str(source)
    if path.exists():
        raise CheckpointError(f"The {what} {text} is a file; give the directory that holds it.")
    if text.count("/") != 1 or text.startswith((".", "/", "~")):
        raise CheckpointError(f"The {what} directory {text} does not exist; give a directory, or a hub id like owner/name.")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        return Path(snapshot_download(text, allow_patterns=["*.json", "*.safetensors", "*.bin", "*.model", "*.jinja"]))
    except GatedRepoError:
        raise CheckpointError(f"{text} is gated: accept its licence on its hub page, then run `hf auth login`.") from None
    except RepositoryNotFoundError:
        raise CheckpointError(f"The hub has no model {text} (or it is private); check the id, or run `hf auth login`.") from None
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError) as error:
        raise CheckpointError(f"{text} is neither a directory here nor in the hub's cache, and the hub cannot be reached "
                              f"({type(error).__name__}); connect, or give a directory.") from None


def read_json(path: Path) -> dict:
    """A JSON object from a file. Raises CheckpointError."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing; a checkpoint directory holds config.json beside its weights.") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON ({error}); copy the checkpoint again.") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} does not hold a JSON object; copy the checkpoint again.")
    return value


# -- the target -------------------------------------------------------------------------------------------------------


def load_target(directory: Path, device: torch.device, dtype: torch.dtype, device_map: str | None) -> LlamaForCausalLM:
    """A Llama checkpoint (sharded or not, tied embeddings or not), all weights present. Raises CheckpointError."""
    raw = read_json(directory / "config.json")
    if raw.get("model_type") != "llama":
        raise CheckpointError(f"{directory} holds a model of type {raw.get('model_type')!r}; the target must be a Llama "
                              "(model_type \"llama\").")
    try:
        model, info = LlamaForCausalLM.from_pretrained(
            directory, config=AutoConfig.from_pretrained(directory), dtype=dtype, device_map=device_map,
            attn_implementation="sdpa", output_loading_info=True, local_files_only=True,
        )
    except (SafetensorError, pickle.UnpicklingError) as error:
        raise CheckpointError(f"The weights in {directory} are truncated or broken ({error}); copy them again.") from None
    except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CheckpointError(f"The target in {directory} cannot be loaded: {reason}") from None
    missing = sorted(info["missing_keys"]) + sorted(str(k) for k in info.get("mismatched_keys", ()))
    if missing:
        raise CheckpointError(f"The target in {directory} lacks {missing[0]}"
                              + (f" and {len(missing) - 1} more tensors" if len(missing) > 1 else "")
                              + "; copy the checkpoint again.")
    return model if device_map else model.to(device)


def load_tokenizer(directory: Path):
    """The directory's tokenizer, or None where it has none."""
    if not any((directory / name).exists() for name in ("tokenizer.json", "tokenizer.model", "tokenizer_config.json")):
        return None
    try:
        return AutoTokenizer.from_pretrained(directory, local_files_only=True)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise CheckpointError(f"The tokenizer in {directory} cannot be loaded ({error}); copy the checkpoint again.") from None


def _eos_ids(directory: Path, model: LlamaForCausalLM) -> tuple[int, ...]:
    """End-of-sequence ids: the generation config knows the whole list, the model config often only one."""
    value = model.config.eos_token_id
    if (directory / "generation_config.json").exists():
        value = GenerationConfig.from_pretrained(directory, local_files_only=True).eos_token_id or value
    return tuple(value) if isinstance(value, (list, tuple)) else () if value is None else (value,)


# -- the head ---------------------------------------------------------------------------------------------------------


def load_head(directory: Path, target: Target) -> EagleHead:
    """An EAGLE-1/2 head (`config.json` beside `model.safetensors` or `pytorch_model.bin`) for this target."""
    raw = read_json(directory / "config.json")
    tensors = _read_tensors(directory)
    if any(name.startswith("midlayer.") or name in ("d2t", "t2d") for name in tensors):
        raise CheckpointError(f"The head in {directory} is an EAGLE-3 head; this decoder reads EAGLE-1/2 heads so far.")
    for key, ours in (("hidden_size", target.hidden_size), ("vocab_size", target.vocab_size)):
        if key in raw and raw[key] != ours:
            raise CheckpointError(f"The head in {directory} does not fit the target: its {key} is {raw[key]}, the target's "
                                  f"is {ours}; use the head that was trained for this target.")
    head = EagleHead(_head_config(raw, target, directory), target.model.model.embed_tokens, bias="fc.bias" in tensors)
    if raw.get("bias", True) != ("fc.bias" in tensors):
        raise CheckpointError(f"The head in {directory} has {'no ' * ('fc.bias' not in tensors)}fc.bias, its config.json says "
                              f"\"bias\": {str(raw.get('bias', True)).lower()} (true where absent); one of them is wrong.")
    _adopt_embedding(tensors, head, target, directory)
    _check_tensors(tensors, head, directory)
    head.load_state_dict(tensors)
    return head.requires_grad_(False)


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
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CheckpointError(f"The head's weights in {directory} are truncated or broken ({reason}); copy them again.") from None
    raise CheckpointError(f"{directory} holds neither model.safetensors nor pytorch_model.bin; give a head's directory.")


def _head_config(raw: dict, target: Target, directory: Path) -> LlamaConfig:
    """The head's own shape and rotary settings; the rotary table reaches as far as the target's context.

    rope_theta comes from the head's config, 10000 where absent, never from the target's (official heads rely on it).
    """
    try:
        heads = int(raw["num_attention_heads"])
        rope = dict(raw.get("rope_scaling") or {})
        rope["rope_type"] = rope.pop("type", rope.get("rope_type", "default"))
        rope["rope_theta"] = float(raw.get("rope_theta") or (raw.get("rope_parameters") or {}).get("rope_theta") or 10000.0)
        config = LlamaConfig(
            hidden_size=target.hidden_size, vocab_size=target.vocab_size, num_hidden_layers=1,
            intermediate_size=int(raw["intermediate_size"]), num_attention_heads=heads,
            num_key_value_heads=int(raw.get("num_key_value_heads") or heads), hidden_act=raw.get("hidden_act", "silu"),
            rms_norm_eps=float(raw.get("rms_norm_eps", 1e-6)), rope_parameters=rope,
            max_position_embeddings=target.context,
        )
    except KeyError as error:
        raise CheckpointError(f"{directory / 'config.json'} lacks {error.args[0]}; copy the head again.") from None
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{directory / 'config.json'} does not describe a head ({error}).") from None
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
            raise CheckpointError(f"The head in {directory} has {name} as {list(tensor.shape)}, its config and target "
                                  f"ask for {list(expected[name].shape)}.")
