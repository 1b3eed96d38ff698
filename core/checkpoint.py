"""Checkpoints in: any Llama that transformers loads as the target, with its tokenizer, and a head (`heads.py`).

Nothing is loaded halfway: a target whose file lacks a weight is refused instead of being filled with random
numbers. Errors are CheckpointError, one sentence each.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoTokenizer, LlamaForCausalLM
from transformers.utils import logging as transformers_logging

from .files import CheckpointError, quiet_transformers, read_json, reason
from .heads import load_head
from .linear import speed_up
from .pair import Pair
from .target import Target

transformers_logging.disable_progress_bar()  # a bar for half a second of loading is noise

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_pair(target: str | os.PathLike, draft: str | os.PathLike, device: str = "auto", dtype: str = "auto",
              device_map: str | None = None, name: str | None = None, target_source: str | None = None,
              draft_source: str | None = None) -> Pair:
    """Load a target and its EAGLE-1/2 head.

    target, draft: a directory or a hub id. device: "auto" takes CUDA where there is one; dtype: "auto" takes
    bfloat16 on CUDA where it is supported, float32 on a CPU. device_map is handed to accelerate for targets
    larger than one GPU. name and the sources are what the trace calls the pair and its weights. Raises CheckpointError.
    """
    device = choose_device(device)
    dtype = choose_dtype(dtype, device)  # before anything is fetched
    target_dir, draft_dir = find(target, "target"), find(draft, "head")
    model = load_target(target_dir, device, dtype, device_map)
    wrapped = Target(model)
    head = load_head(draft_dir, wrapped)
    home = model.lm_head.weight.device if model.lm_head.weight.device.type != "meta" else device  # beside the lm_head
    head.to(device=home, dtype=dtype)
    if head.embed is not model.model.embed_tokens:
        head.embed.to(device=home, dtype=dtype)  # its own embedding is no registered part of it
    speed_up(model)
    speed_up(head)
    return Pair(
        name=name or f"{_public_name(target)} + {_public_name(draft)}",
        target=wrapped, head=head.eval(), tokenizer=load_tokenizer(target_dir),
        eos_ids=_eos_ids(target_dir, model), target_source=target_source or _public_name(target),
        draft_source=draft_source or _public_name(draft),
    )


def _public_name(source: str | os.PathLike) -> str:
    """A hub id as it is; of a directory only its name, since a trace is shared and paths name people.
    A directory of the hub's cache (models--owner--name/snapshots/revision) is called by its hub id."""
    if not Path(source).is_dir():
        return str(source)
    path = Path(source).resolve()
    if path.parent.name == "snapshots" and path.parent.parent.name.startswith("models--"):
        return path.parent.parent.name.removeprefix("models--").replace("--", "/", 1)
    return path.name


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
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    small = ["*.json", "*.model", "*.jinja"]
    try:
        path = Path(snapshot_download(text, allow_patterns=[*small, "*.safetensors"]))
        if not any(path.glob("*.safetensors")):  # many repositories hold both: the same weights twice
            path = Path(snapshot_download(text, allow_patterns=[*small, "*.bin"]))
        return path
    except GatedRepoError:
        raise CheckpointError(f"{text} is gated: accept its licence on its hub page, then run `hf auth login`.") from None
    except RepositoryNotFoundError:
        raise CheckpointError(f"The hub has no model {text} (or it is private); check the id, or run `hf auth login`.") from None
    except Exception as error:  # of the hub, of HTTP, of the disk: there are many kinds
        raise CheckpointError(f"{text} is neither a directory here nor in the hub's cache, and the hub cannot be reached "
                              f"({type(error).__name__}); connect, or give a directory.") from None


# -- the target -------------------------------------------------------------------------------------------------------


def load_target(directory: Path, device: torch.device, dtype: torch.dtype, device_map: str | None) -> LlamaForCausalLM:
    """A Llama checkpoint (sharded or not, tied embeddings or not), all weights present. Raises CheckpointError."""
    raw = read_json(directory / "config.json")
    if raw.get("model_type") != "llama":
        raise CheckpointError(f"{directory} holds a model of type {raw.get('model_type')!r}; the target must be a Llama "
                              "(model_type \"llama\").")
    try:
        with quiet_transformers():
            config = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
            model, info = LlamaForCausalLM.from_pretrained(
                directory, config=config, dtype=dtype, device_map=device_map, attn_implementation="sdpa",
                ignore_mismatched_sizes=True, output_loading_info=True, local_files_only=True,
            )
    except (SafetensorError, pickle.UnpicklingError, EOFError) as error:
        raise CheckpointError(f"The target's weights in {directory} are truncated or broken ({reason(error)}); copy "
                              "them again.") from None
    except Exception as error:  # whatever a library says of files that somebody else made
        raise CheckpointError(f"The target in {directory} cannot be loaded ({reason(error)}); check its config.json, or "
                              "copy the checkpoint again.") from None
    for key, found, asked in sorted(info.get("mismatched_keys") or ()):
        raise CheckpointError(f"The target in {directory} has {key} as {list(found)}, its config.json asks for "
                              f"{list(asked)}; copy the checkpoint again.")
    missing = sorted(info["missing_keys"])
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
        return AutoTokenizer.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # tokenizers raises bare Exceptions
        raise CheckpointError(f"The tokenizer in {directory} cannot be loaded ({reason(error)}); copy the checkpoint "
                              "again.") from None


def _eos_ids(directory: Path, model: LlamaForCausalLM) -> tuple[int, ...]:
    """End-of-sequence ids: the generation config knows the whole list, the model config often only one."""
    value, path = model.config.eos_token_id, directory / "generation_config.json"
    if path.exists():
        own = read_json(path).get("eos_token_id")
        value = value if own is None else own  # 0 is an id like any other
    ids = tuple(value) if isinstance(value, (list, tuple)) else () if value is None else (value,)
    for i in ids:
        if isinstance(i, bool) or not isinstance(i, int):
            raise CheckpointError(f"eos_token_id in {directory} is {i!r}, not a token id; mend generation_config.json.")
    return ids
