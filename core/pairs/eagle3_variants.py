"""Heads that call themselves EAGLE-3 and compute something else: each is told by a key or a tensor, and named.

Some variants exist in the config alone: their tensors are those of any other head.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ..common.files import CheckpointError

TENSORS = (  # by name, the most telling first: what such a head is
    (r"(^|\.)q_norm\.|(^|\.)k_norm\.", "has query norms ({name}): a Qwen3-style head, not supported"),
    (r"^layers\.[1-9]\d*\.", "has more than one layer ({name}); heads of one layer are supported, no others"),
    (r"\.bias$", "has a bias ({name}); EAGLE-3 heads without biases are supported, no others"),
    (r"kv_a_proj|kv_b_proj", "has the latent attention of DeepSeek's models ({name}), not supported"),
    (r"\.experts\.|(^|\.)mlp\.gate\.weight$", "has a mixture of experts ({name}), not supported"),
    (r"mask_hidden", "drafts several tokens a pass ({name}, as P-EAGLE does), which is another algorithm; not "
                     "supported"),
    (r"scale|zero_point|qweight", "has quantised weights ({name}); give a head that is not quantised"),
)
PLAIN = {  # keys of NVIDIA's eagle_config, with the values that describe EAGLE-3
    "use_aux_hidden_state": True, "next_layer_regular": True, "use_last_layernorm": True,
    "use_input_layernorm_in_first_layer": True, "use_mtp_layernorm": False, "parallel_draft_step": 1,
}
REMEDY = "use an EAGLE-3 head without it"


def refuse_variants(where: str, raw: dict, keys: dict, tensors: Collection[str]) -> None:
    """Raises CheckpointError for a variant that is not supported."""
    for pattern, what in TENSORS:
        if name := next((name for name in sorted(tensors) if re.search(pattern, name)), None):
            raise CheckpointError(f"{where} {what.format(name=name)}; {REMEDY}.")
    inner = raw.get("eagle_config") if isinstance(raw.get("eagle_config"), dict) else {}
    for key, plain in PLAIN.items():
        value = inner.get(key, keys.get(key, plain))
        if value != plain:
            raise CheckpointError(f"{where} has {key} {value!r} in its config.json, EAGLE-3 has {plain!r}: a variant "
                                  f"that is not supported; {REMEDY}.")
    if keys.get("parallel_drafting"):
        raise CheckpointError(f"{where} says parallel_drafting: it drafts several tokens a pass, which is another "
                              f"algorithm; {REMEDY}.")
    if keys.get("use_sliding_window") or "sliding_attention" in (keys.get("layer_types") or ()):
        raise CheckpointError(f"{where} has a sliding_window in its attention, not supported; {REMEDY}.")


def variant_of(where: str, raw: dict, keys: dict, tensors: Collection[str]) -> dict[str, bool]:
    """The variants that are supported, as `Eagle3Head` takes them. Raises CheckpointError where the config and the
    tensors say two things."""
    inner = raw.get("eagle_config") if isinstance(raw.get("eagle_config"), dict) else {}
    said = {name: inner.get(name, keys.get(name, False))
            for name in ("norm_before_residual", "norm_before_fc", "fc_norm", "norm_output")}
    for name, value in said.items():
        if not isinstance(value, bool):
            raise CheckpointError(f"{where} has {name} {value!r} in its config.json; give true or false there.")
    for name, tensor in (("norm_before_fc", "input_norm."), ("fc_norm", "fc_norm.")):
        there = any(name.startswith(tensor) for name in tensors)
        if there != said[name]:
            raise CheckpointError(f"{where} has {'' if there else 'no '}{tensor}*, norms in front of fc, its "
                                  f"config.json says \"{name}\": {str(said[name]).lower()} (false where absent); one "
                                  "of them is wrong.")
    if said["norm_before_fc"] and said["fc_norm"]:
        raise CheckpointError(f"{where} says both norm_before_fc and fc_norm, of which a head has one; give the "
                              "config.json and the weights of one head.")
    return said
