"""Checkpoints in: any Llama that transformers loads as the target, with its tokenizer, and a head (`heads.py`).

Nothing is loaded halfway: a target whose file lacks a weight is refused instead of being filled with random
numbers. Errors are CheckpointError, one sentence each.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import torch
from transformers import LlamaForCausalLM
from transformers.utils import logging as transformers_logging

from ..common.files import CheckpointError, called, hub_id, quiet_transformers, read_json, reason, weight_files
from ..common.memory import enough_memory, size
from ..errors import PairWarning
from ..model.linear import speed_up
from ..model.pair import Pair
from ..model.target import Target
from .generation import rules_left_out, sentence
from .head_files import check_head
from .heads import load_head
from .hub import find
from .target_files import account, target_config, target_notes, target_weights
from .tokenizer import load_tokenizer

transformers_logging.disable_progress_bar()  # a bar for half a second of loading is noise

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_pair(target: str | os.PathLike, draft: str | os.PathLike, device: str = "auto", dtype: str = "auto",
              device_map: str | None = None, name: str | None = None, target_source: str | None = None,
              draft_source: str | None = None, target_embedding: bool = False) -> Pair:
    """Load a target and its head, EAGLE-1/2 or EAGLE-3.

    target, draft: a directory or a hub id. device: "auto" takes CUDA where there is one; dtype: "auto" takes
    bfloat16 on CUDA where it is supported, float32 on a CPU. device_map is handed to accelerate for targets
    larger than one GPU. name and the sources are what the trace calls the pair and its weights. target_embedding: the
    head reads the target's embedding, whatever its own. A note on the pair is a PairWarning too. Raises CheckpointError.
    """
    device = choose_device(device)
    dtype = choose_dtype(dtype, device)  # before anything is fetched
    target_config(find(target, "target", weights=False))  # and before gigabytes are: is it the right kind?
    check_head(find(draft, "head", weights=False))
    target_dir, draft_dir = find(target, "target"), find(draft, "head")
    with enough_memory(lambda wanted: _too_large(target_dir, draft_dir, device, wanted)):
        model = load_target(target_dir, device, dtype, device_map)
        wrapped = Target(model)
        head = load_head(draft_dir, wrapped, target_embedding)
        home = model.lm_head.weight.device if model.lm_head.weight.device.type != "meta" else device  # beside the lm_head
        head.to(device=home, dtype=dtype)
        if head.embed is not model.model.embed_tokens:
            head.embed.to(device=home, dtype=dtype)  # its own embedding is no registered part of it
        speed_up(model)
        speed_up(head)
    left_out = rules_left_out(model)
    notes = (*target_notes(target_dir, model, wrapped.context), *head.notes,
             *(sentence(left_out),) * bool(left_out))
    for note in notes:
        warnings.warn(note, PairWarning, stacklevel=2)
    return Pair(
        name=name or f"{_public_name(target)} + {_public_name(draft)}",
        target=wrapped, head=head.eval(), tokenizer=load_tokenizer(target_dir),
        eos_ids=_eos_ids(target_dir, model), target_source=target_source or _public_name(target),
        draft_source=draft_source or _public_name(draft), notes=notes, left_out=left_out,
    )


def _too_large(target: Path, draft: Path, device: torch.device, wanted: str) -> CheckpointError:
    """Memory ran out, and `wanted` is the size that could not be had, or ""."""
    files = sum(path.stat().st_size for path in (*weight_files(target, "target"), *weight_files(draft, "head")))
    return CheckpointError(f"The memory of {device} ran out while {called(target)} and its head were loaded: "
                           + (wanted or f"their files hold {size(files)}")
                           + "; close other programs, take a smaller pair, or bfloat16 as its dtype.")


def _public_name(source: str | os.PathLike) -> str:
    """A hub id as it is, also for a folder of the hub's cache; of a directory only its name, since a trace is shared
    and paths name people."""
    path = Path(os.path.expanduser(source))
    return hub_id(path) or path.resolve().name if path.is_dir() else str(source)


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
    """"auto" or one of float32, bfloat16, float16, PyTorch's own or by name. Raises CheckpointError."""
    dtype = str(dtype).removeprefix("torch.")
    if dtype != "auto":
        if dtype not in DTYPES:
            raise CheckpointError(f'dtype "{dtype}" is unknown; use auto, {", ".join(DTYPES)}.')
        return DTYPES[dtype]
    if device.type == "cpu":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


def load_target(directory: Path, device: torch.device, dtype: torch.dtype, device_map: str | None) -> LlamaForCausalLM:
    """A Llama checkpoint, sharded or not, tied or not, with every tensor accounted for. Raises CheckpointError."""
    config = target_config(directory)
    target_weights(directory, config)
    try:
        with quiet_transformers():
            model, info = LlamaForCausalLM.from_pretrained(
                directory, config=config, dtype=dtype, device_map=device_map, attn_implementation="sdpa",
                ignore_mismatched_sizes=True, output_loading_info=True, local_files_only=True,
            )
    except Exception as error:  # whatever a library says of files that somebody else made
        raise CheckpointError(f"The target in {called(directory)} cannot be loaded ({reason(error)}); check its "
                              "config.json, or copy the checkpoint again.") from None
    account(directory, config, info)
    return model if device_map else model.to(device)


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
