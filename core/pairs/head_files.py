"""What lies in a head's folder: config and tensors, by the official names, or what it is instead of a head.

Knows files and names, neither shapes nor targets. One file or shards, safetensors or pickles; the wrappers that
training puts around a model (`module.`) and the rotary tables that older programs saved are taken off.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Collection
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from ..common.files import WEIGHTS, CheckpointError, called, hub_id, read_json, reason, remedy, weight_files

WRAPPERS = ("module.", "_orig_mod.")  # data-parallel training, torch.compile
ROTARY = re.compile(r"(^|\.)rotary_emb\.(inv_freq|original_inv_freq|cos_cached|sin_cached)$")  # the config makes them
TRAINING = re.compile(r"optimizer\.(bin|pt)|optimizer_\d+|random_states_\d+\.pkl|scheduler\.(bin|pt)|scaler\.pt"
                      r"|rng_state.*\.pth|trainer_state\.json|training_args\.bin|zero_to_fp32\.py|global_step\d+")


def check_head(directory: Path) -> dict:
    """The config, if what the small files tell is a head's. Raises CheckpointError."""
    raw = read_json(directory / "config.json") if (directory / "config.json").exists() else {}
    refuse_others(directory, raw, () if raw else _names(directory))
    return raw or read_json(directory / "config.json")


def read_head(directory: Path) -> tuple[dict, dict[str, Tensor]]:
    """The config, and the tensors by their official names. Raises CheckpointError."""
    raw = check_head(directory)
    tensors = _read_tensors(directory)
    if not tensors:
        refuse_others(directory, raw, _names(directory))
        how = remedy(directory) if hub_id(directory) else "give a head's directory"
        raise CheckpointError(f"{called(directory)} holds neither model.safetensors nor pytorch_model.bin; {how}.")
    while prefix := next((w for w in WRAPPERS if tensors and all(name.startswith(w) for name in tensors)), None):
        tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    tensors = {name: tensor for name, tensor in tensors.items() if not ROTARY.search(name)}
    refuse_others(directory, raw, tensors=tensors)
    return raw, tensors


def _names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def is_eagle3(raw: dict, tensors: Collection[str] = ()) -> bool:
    """Is it an EAGLE-3 head, or another? Its tensors tell; where they were not read, its config's words."""
    if tensors:
        return any(name in ("d2t", "t2d") or "midlayer." in name or "hidden_norm." in name for name in tensors)
    return raw.get("speculators_model_type") == "eagle3" or "eagle3" in str(raw.get("architectures")).lower()


def refuse_others(directory: Path, raw: dict, files: Collection[str] = (), tensors: Collection[str] = ()) -> None:
    """Raises CheckpointError for what is often given as a head and is none, by its right name.

    files: the names in a folder that lacks what a head has; tensors: the names of its tensors, where they were read.
    """
    kinds = str(raw.get("architectures")).lower()
    wanted = "give an EAGLE head of this target"
    layout = "give the head that it was made from, config.json beside weights named fc.weight and layers.0.*"
    if is_eagle3(raw, tensors):
        return
    if "speculators_model_type" in raw or "speculators_config" in raw:
        what = f"a head in speculators' layout; {layout}"
    elif raw.get("model_type") == "eagle" or isinstance(raw.get("model"), dict) or "eaglemodel" in kinds:
        what = f"a head in vLLM's layout; {layout}"
    elif any(key.startswith("medusa_") for key in raw) or any(name.startswith("medusa_lm_head") for name in files):
        what = f"Medusa heads, which do not draft as EAGLE does; {wanted}"
    elif raw.get("model_type") == "mlp_speculator":
        what = f"an MLP speculator, which does not draft as EAGLE does; {wanted}"
    elif "adapter_config.json" in files or any("lora_" in name for name in tensors):
        what = f"a LoRA adapter, which changes a model and drafts nothing; {wanted}"
    elif tensors and "fc.weight" not in tensors and (raw.get("model_type") not in (None, "llama") or any(
            name.endswith("layers.0.input_layernorm.weight") for name in tensors)):
        what = (f"an ordinary language model of type {raw.get('model_type')!r}, not an EAGLE head; {wanted}, or train one "
                "(python -m core train)")
    elif "state.pt" in files and "head" in files:
        what = f"a training, and its head is in {directory / 'head'}; give that folder"
    elif state := sorted(name for name in files if TRAINING.fullmatch(name)):
        what = (f"a state that training left ({state[0]}), not a finished head; give the folder of the head, or put its "
                "config.json beside its weights")
    else:
        return
    raise CheckpointError(f"{directory} holds {what}.")


def _read_tensors(directory: Path) -> dict[str, Tensor]:
    """All tensors of the folder's weights, one file or shards; none where there are none."""
    for name in WEIGHTS:
        if (directory / name).is_dir():  # a folder of this name is what zero_to_fp32 leaves, the weights inside
            return _read_tensors(directory / name)
    tensors = {}
    for path in weight_files(directory, "head"):
        try:
            tensors |= load_file(path) if path.suffix == ".safetensors" else _unpickle(path)
        except (SafetensorError, pickle.UnpicklingError, EOFError, RuntimeError, OSError) as error:
            raise CheckpointError(f"The head's weights in {directory} are truncated or broken ({path.name}: {reason(error)}); "
                                  "copy them again.") from None
    return tensors


def _unpickle(path: Path) -> dict[str, Tensor]:
    tensors = torch.load(path, map_location="cpu", weights_only=True)  # no code from a pickle
    if isinstance(tensors, dict) and all(isinstance(n, str) and isinstance(t, Tensor) for n, t in tensors.items()):
        return tensors
    if isinstance(tensors, dict) and any(isinstance(part, dict) for part in tensors.values()):
        raise CheckpointError(f"{path} is a state that training left ({', '.join(map(str, tensors))[:60]}), not a "
                              "dictionary of tensors; save the head's part of it alone.")
    raise CheckpointError(f"{path} is not a dictionary of tensors; copy the head again.")
