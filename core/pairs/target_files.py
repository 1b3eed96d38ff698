"""What lies in a target's folder: a Llama's config and weights, or what it is instead, called by its name.

Every tensor is accounted for: one that the config does not ask for is refused by its name and the key that would ask
for it, and so is one that is missing. Only the rope's tables that older programs saved are left out without a word.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch
from pathlib import Path

import torch
from safetensors import safe_open
from transformers import AutoConfig, LlamaConfig, LlamaForCausalLM
from transformers.quantizers import AutoHfQuantizer

from ..common.files import WEIGHTS, CheckpointError, called, quiet_transformers, read_json, reason, remedy, weight_files

ROTARY = re.compile(r"(^|\.)rotary_emb\.(inv_freq|original_inv_freq|cos_cached|sin_cached)$")  # the config makes them

LORA = ("a LoRA adapter, not a whole model; merge it into its base with peft (merge_and_unload, then save_pretrained) "
        "and give what that saves")
META = ("Meta's original files; give the same model in transformers' layout, or convert it with transformers' "
        "convert_llama_weights_to_hf")
OTHERS = (  # a name in a folder that is no target's, and what the folder then holds
    ("adapter_config.json", LORA), ("params.json", META), ("consolidated.*", META),
    ("*.gguf", "a model in GGUF, llama.cpp's layout; give the safetensors checkpoint that it was made from"),
    ("models--*", "the hub's cache; give a model's hub id, or its folder in there"),
    ("*.distcp", "the shards of a training state; let the training program save the whole model"),
    ("global_step*", "a training state of DeepSpeed; turn it into a model with its zero_to_fp32.py"),
    ("mp_rank_*", "a training state of DeepSpeed; turn it into a model with its zero_to_fp32.py"),
    ("*.incomplete", "a download that is not finished; run it again"),
    ("*.onnx", "a model in ONNX; give the safetensors checkpoint that it was made from"),
    ("*.h5", "TensorFlow's weights; give a checkpoint with safetensors"),
    ("*.msgpack", "Flax's weights; give a checkpoint with safetensors"),
)

SURPLUS = (  # tensors that a config.json did not ask for, the most telling first: what they are, or what would ask
    (r"^(module|_orig_mod)\.", "named as training wraps a model; save the model without its wrapper"),
    (r"lora_|^base_model\.", "part of a LoRA adapter; merge it with peft (merge_and_unload) and save the whole model"),
    (r"^fc\.|^midlayer\.", "part of a head; give it with --draft, and with --target the model it was trained for"),
    (r"(_proj|lm_head|embed_tokens)\.(?!weight$|bias$)|scale|zero_point",
     "part of quantised weights, and \"quantization_config\" would; give the checkpoint that was quantised"),
    (r"^(score|classifier|qa_outputs)\.", "part of a classifier, which writes no text; give the language model itself"),
    (r"^v_head\.|value_head", "part of a reward model; save the language model in it alone"),
    (r"self_attn\.[qkvo]_proj\.bias$", "\"attention_bias\": true would; write it there if they are this model's"),
    (r"mlp\.\w+_proj\.bias$", "\"mlp_bias\": true would; write it there if they are this model's"),
    (r"", "no key of a Llama would; it is a model of another architecture, which this decoder does not know"),
)


def target_config(directory: Path) -> LlamaConfig:
    """The config of a Llama. Raises CheckpointError where it is another model's, or where something else lies there."""
    path = directory / "config.json"
    if not os.path.lexists(path) and (other := _instead(directory)):
        raise other
    raw = read_json(path)
    kind = raw.get("model_type")
    if kind is None:
        raise CheckpointError(f"{path} names no model_type (it is None), and the target must be a Llama; if it is one, "
                              "write \"model_type\": \"llama\" into it.")
    if kind != "llama":
        raise CheckpointError(f"{called(directory)} is a model of type {kind!r}; the target must be a Llama "
                              "(model_type \"llama\").")
    try:
        with quiet_transformers():
            config = AutoConfig.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # many hands check these values
        raise CheckpointError(f"{path} does not describe a Llama ({reason(error)}); mend that value in it.") from None
    _check_quantised(directory, raw.get("quantization_config"))
    if raw.get("is_causal") is False:
        raise CheckpointError(f"{path} says \"is_causal\": false: a model that reads its text in both directions, as "
                              "those that make embeddings of texts do, and writes none; give the language model.")
    return config


def _check_quantised(directory: Path, settings: dict | None) -> None:
    """Raises CheckpointError where weights are quantised in a way that transformers cannot read on this machine."""
    if settings is None:
        return
    method = settings.get("quant_method") if isinstance(settings, dict) else settings
    try:
        with quiet_transformers():
            if not AutoHfQuantizer.supports_quant_method(dict(settings)):
                raise ValueError("transformers does not know this method")
            AutoHfQuantizer.from_config(dict(settings), pre_quantized=True).validate_environment(device_map=None)
    except Exception as error:  # a package that is missing, a GPU that is not there, values that make no sense
        raise CheckpointError(f"The target in {called(directory)} is quantised ({method}) and cannot be read here "
                              f"({reason(error)}); give the checkpoint that was quantised, or install what it asks "
                              "for.") from None


def target_weights(directory: Path, config: LlamaConfig) -> list[Path]:
    """The files of the weights, all there and whole. Raises CheckpointError."""
    named, where = getattr(config, "transformers_weights", None), f"The target in {called(directory)}"
    files = weight_files(directory, "target", named if isinstance(named, str) else None)
    if not files:
        raise _instead(directory) or CheckpointError(f"{where} has no weights, neither {' nor '.join(WEIGHTS)}, in one "
                                                     f"file or in shards; {remedy(directory)}.")
    places: dict[str, str] = {}
    for path in files:
        for name, dtype in _headers(path, directory):
            place = name.removeprefix("model.")
            if place in places:
                raise CheckpointError(f"{where} has {place} twice, as {places[place]} and as {name} in {path.name}; "
                                      "take out the one that is wrong.")
            places[place] = f"{name} in {path.name}"
            if not dtype.lower().startswith(("f", "bf")) and not hasattr(config, "quantization_config") \
                    and re.search(r"\.(weight|bias)$", name):
                raise CheckpointError(f"{where} has {name} as {dtype}, not as floating-point numbers, and no "
                                      "\"quantization_config\" that says how to read them; give the checkpoint that "
                                      "was quantised.")
    if config.num_hidden_layers > len(places):  # before as many are built
        raise CheckpointError(f"{where} has {len(places)} tensors, its config.json asks for {config.num_hidden_layers} "
                              "layers; give the config.json and the weights of one model.")
    return files


def _headers(path: Path, directory: Path) -> list[tuple[str, str]]:
    """The names of a file's tensors and their dtypes in words, without reading the numbers. Raises CheckpointError."""
    try:
        if path.suffix == ".safetensors":
            with safe_open(path, "pt") as file:
                return [(name, file.get_slice(name).get_dtype()) for name in file.keys()]
        tensors = torch.load(path, map_location="meta", weights_only=True)
    except Exception as error:  # the formats' libraries have many kinds
        raise CheckpointError(f"The target's weights in {called(directory)} are truncated or broken ({path.name}: "
                              f"{reason(error)}); copy them again.") from None
    if not isinstance(tensors, dict) or not all(isinstance(tensor, torch.Tensor) for tensor in tensors.values()):
        raise CheckpointError(f"{path} is not a dictionary of tensors but a state that training left; save the model "
                              "alone.")
    return [(name, str(tensor.dtype).removeprefix("torch.")) for name, tensor in tensors.items()]


def account(directory: Path, config: LlamaConfig, info: dict) -> None:
    """Raises CheckpointError for a tensor too many, misshapen or missing, as transformers found them on loading."""
    where = f"The target in {called(directory)}"
    surplus = sorted(name for name in info["unexpected_keys"] if not ROTARY.search(name))
    if surplus:
        kind, why = next((kind, why) for kind, why in SURPLUS if any(re.search(kind, name) for name in surplus))
        name = next(name for name in surplus if re.search(kind, name))
        layer = re.search(r"layers\.(\d+)\.", name)
        if layer and int(layer[1]) >= config.num_hidden_layers:
            why = f"it has {config.num_hidden_layers} as \"num_hidden_layers\", a larger number would; mend it there"
        elif "attention_bias" in why and not any(name.endswith("o_proj.bias") for name in surplus):
            why = ("\"attention_bias\": true would, but with o_proj.bias, which is not there; it is a model of another "
                   "architecture, as Qwen2 is one")
        raise CheckpointError(f"{where} has {name}{_more(surplus)} that its config.json does not ask for: {why}.")
    for key, found, asked in sorted(info.get("mismatched_keys") or ()):
        raise CheckpointError(f"{where} has {key} as {list(found)}, its config.json asks for {list(asked)}; give the "
                              "config.json and the weights of one model.")
    missing = sorted(info["missing_keys"])
    if missing == ["lm_head.weight"]:
        kind = ", ".join(config.architectures or ["LlamaModel"])
        raise CheckpointError(f"{where} lacks lm_head.weight: it is a base model ({kind}), which writes no text; give "
                              "the language model (LlamaForCausalLM), or, if it shares its embedding, write "
                              "\"tie_word_embeddings\": true into its config.json.")
    if missing:
        raise CheckpointError(f"{where} lacks {missing[0]}{_more(missing)} that its config.json asks for; give the "
                              "config.json and the weights of one model, all of its files.")


def _more(names: list[str]) -> str:
    return f" and {len(names) - 1} more tensors" if len(names) > 1 else ", a tensor"


def target_notes(directory: Path, model: LlamaForCausalLM, context: int) -> list[str]:
    """What whoever decodes should know of the files that the model came from, a sentence each."""
    raw, name, notes = read_json(directory / "config.json"), called(directory), []
    window = raw.get("sliding_window")
    if window is not None and not (isinstance(window, int) and window >= context):
        notes.append(f"The config.json of {name} names a sliding_window of {window}, which the attention of a Llama "
                     "does not have: here every token sees the whole text, while the cache of transformers' generate "
                     "forgets what is further back.")
    applied = getattr(model, "_hf_peft_config_loaded", False)  # transformers does it where peft is installed
    if (directory / "adapter_config.json").exists() and not applied:
        notes.append(f"An adapter lies beside the weights of {name} and is not applied; merge it (peft's "
                     "merge_and_unload) to decode with it.")
    return notes


def _instead(directory: Path) -> CheckpointError | None:
    """What the folder holds instead of a target, where that can be told."""
    names = sorted(entry.name for entry in directory.iterdir())
    for pattern, what in OTHERS:
        if name := next((name for name in names if fnmatch(name, pattern)), None):
            return CheckpointError(f"{called(directory)} holds {what} ({name} is there).")
    inner = next((name for name in names if (directory / name / "config.json").exists()), None)
    if inner:
        return CheckpointError(f"{called(directory)} holds folders with a model each; give one of them, "
                               f"{directory / inner} or another.")
    return None
