"""EAGLE-3 heads as the programs that train and serve them leave them, fitted to their target.

Layouts differ in names only: `midlayer.` or `layers.0.`, perhaps behind `model.`; a Llama's keys at the top of
config.json or in a part of it; the layers to be read under three keys in two conventions. Variants that change the
arithmetic are supported or refused by their own word (`eagle3_variants.py`): a head that is run as another one drafts
nonsense, and no output would tell.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch
from torch import Tensor
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from ..common.files import CheckpointError, quiet_transformers, reason
from ..model.eagle3 import Eagle3Head
from ..model.target import Target
from .eagle3_variants import refuse_variants, variant_of
from .head_parts import ROPE, adopt_embedding, fill, give_embedding, head_config, refuse_integers

NESTED = ("transformer_layer_config", "model")  # where speculators and vLLM put a Llama's keys
IDS = "eagle_aux_hidden_state_layer_ids"


def eagle3_head(directory: Path, raw: dict, tensors: dict[str, Tensor], target: Target,
                target_embedding: bool = False) -> Eagle3Head:
    """The head of these tensors for this target. Raises CheckpointError."""
    where, keys, tensors = f"The head in {directory}", flat(raw), _official(directory, tensors)
    refuse_variants(where, raw, keys, tensors)
    variant = variant_of(where, raw, keys, tensors)
    refuse_integers(directory, ((name, t) for name, t in tensors.items() if name not in ("d2t", "t2d")))
    if "fc.weight" not in tensors:
        raise CheckpointError(f"{where} lacks the tensor fc.weight; it is not in the EAGLE-3 layout.")
    width = len(tensors["fc.weight"])
    for key, found, what in (("hidden_size", width, "rows of its fc.weight"),
                             ("target_hidden_size", target.hidden_size, "width of the target"),
                             ("vocab_size", target.vocab_size, "vocabulary of the target")):
        if keys.get(key, found) != found:
            raise CheckpointError(f"{where} does not fit: its {key} is {keys[key]!r}, the {what} {found}; use the head "
                                  "that was trained for this target, with its own config.json.")
    taps = layers_read(where, raw, target.layers, tensors["fc.weight"], target.hidden_size)
    own_output = "lm_head.weight" in tensors
    words = len(tensors["lm_head.weight"]) if own_output else keys.get("draft_vocab_size", target.vocab_size)
    ids = _vocabulary(where, keys, tensors, words, target.vocab_size)
    if not own_output and (words != target.vocab_size or width != target.hidden_size):
        raise CheckpointError(f"{where} lacks the tensor lm_head.weight, and the target's, {target.vocab_size} x "
                              f"{target.hidden_size}, is not {words} x {width}; copy the whole head again.")
    if width != target.hidden_size and "embed_tokens.weight" not in tensors:
        raise CheckpointError(f"{where} is {width} wide and the target {target.hidden_size}, so it needs "
                              "embed_tokens.weight, an embedding of its own, and has none; copy the whole head again.")
    _check_rope(where, keys)
    try:
        with quiet_transformers():
            config = head_config(keys, target, tensors.get("midlayer.self_attn.q_proj.weight"), width)
            head = Eagle3Head(config, target.model.model.embed_tokens, taps, target.hidden_size, words,
                              None if own_output else target.model.lm_head, **variant)
    except Exception as error:  # many hands check these numbers
        raise CheckpointError(f"{directory / 'config.json'} does not describe a head ({reason(error)}); copy the head "
                              "again.") from None
    if not own_output:
        head.notes += (f"{where} has no lm_head.weight, so it drafts with the target's.",)
    if variant.get("norm_output"):
        head.notes += (f"The config.json of the head in {directory} says norm_output, and what it drafts from is "
                       "normed; older trainings wrote that into heads that are not so: where little is accepted, take "
                       "it out.",)
    head.ids = ids
    if width != target.hidden_size:
        _own_embedding(where, tensors, head, target)
    adopt_embedding(tensors, head, target, directory, target_embedding)
    fill(head, tensors, directory, "EAGLE-3")
    return head


def flat(raw: dict) -> dict:
    """The keys of config.json with those of the part that describes the layer; null is as good as absent."""
    keys = {}
    for part in (*(raw[name] for name in NESTED if isinstance(raw.get(name), dict)), raw):
        keys |= {key: value for key, value in part.items() if value is not None}
    return keys


def _official(directory: Path, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors under the names of the official repository."""
    names: dict[str, str] = {}
    for name in tensors:
        official = re.sub(r"^(model\.)?(layers\.0\.)?", lambda match: "midlayer." if match[2] else "", name)
        if official in names:
            raise CheckpointError(f"The head in {directory} has {official} twice, as {names[official]} and as {name}; "
                                  "take out the one that is wrong.")
        names[official] = name
    return {official: tensors[name] for official, name in names.items()}


def layers_read(where: str, raw: dict, layers: int, fc: Tensor, width: int) -> tuple[int, ...]:
    """The boundaries of a target of so many `layers`, `width` wide, that the head reads, ascending.

    Ids at the top of config.json are boundaries. In its part eagle_config they may be outputs, one less: nothing says
    so, but what begins with 1 is, since no head reads what the first layer alone has made.
    """
    inner = raw.get("eagle_config") or {}
    ids = raw.get(IDS) if raw.get(IDS) is not None else inner.get(IDS)
    wide = f"its fc.weight is {' x '.join(map(str, fc.shape))}, made for {fc.shape[-1] / width:.3g} features of {width}"
    if ids is None:
        taps = tuple(sorted({2, layers // 2, layers - 3}))
        if len(taps) < 3 or taps[0] < 0:
            raise CheckpointError(f"{where} names no layers of the target, and the target has {layers} layers, too few "
                                  f"for features 2, L/2 and L-3; the head must name its own in {IDS}.")
    else:
        if not isinstance(ids, list) or not all(type(i) is int for i in ids):
            raise CheckpointError(f"{where} has {IDS} {ids!r}; give a list of whole numbers there.")
        outputs = raw.get(IDS) is None and ids[:1] == [1]
        taps = tuple(sorted({i + outputs for i in ids}))
        if not taps or len(taps) < len(ids) or taps[0] < 0 or taps[-1] > layers:
            raise CheckpointError(f"{where} has {IDS} {ids}, and the target has {layers} layers; these must be "
                                  f"different numbers from 0 to {layers - outputs}; {wide}.")
    if fc.shape[-1] != len(taps) * width:
        raise CheckpointError(f"{where} reads {len(taps)} layers of the target ({', '.join(map(str, taps))} of "
                              f"{layers}), but {wide}; use the head that was trained for this target.")
    return taps


def _vocabulary(where: str, keys: dict, tensors: dict[str, Tensor], words: int, vocab: int) -> Tensor | None:
    """The token ids of the head's logits [words], None where they are the target's. Takes d2t and t2d out of the
    tensors."""
    d2t, t2d = tensors.pop("d2t", None), tensors.pop("t2d", None)
    said = keys.get("draft_vocab_size", words)
    if said != words:
        raise CheckpointError(f"{where} has lm_head.weight with {words} rows, its config.json says draft_vocab_size "
                              f"{said!r}; give the config.json and the weights of one head.")
    if words > vocab:
        raise CheckpointError(f"{where} has lm_head.weight with {words} rows, more than the {vocab} tokens of the "
                              "target; use the head that was trained for this target.")
    if words == vocab:
        return None  # the official code, too, leaves a d2t out then
    if d2t is None:
        raise CheckpointError(f"{where} drafts among {words} of {vocab} tokens and lacks the tensor d2t, which says "
                              "which these are; copy the whole head again.")
    if d2t.shape != (words,) or d2t.is_floating_point() or d2t.dtype is torch.bool:
        raise CheckpointError(f"{where} has d2t as {str(d2t.dtype).removeprefix('torch.')} {list(d2t.shape)}, where "
                              f"{words} whole numbers belong, one for each row of lm_head.weight; copy the whole head "
                              "again.")
    ids = torch.arange(words) + d2t.long()
    outside = (ids < 0) | (ids >= vocab)
    ascending, order = ids.sort(stable=True)
    again = torch.zeros_like(outside)
    again[order[1:]] = ascending[1:] == ascending[:-1]
    if bool((outside | again).any()):
        i = int((outside | again).nonzero()[0])
        what = f"outside the {vocab} of the target" if outside[i] else "which another row means too"
        raise CheckpointError(f"{where} has d2t {int(d2t[i])} for row {i}, so token {int(ids[i])}, {what} (d2t holds "
                              "what is to be added to a row's number, not the token itself); copy the head again, or "
                              "write d2t as offsets.")
    if t2d is not None and (t2d.shape != (vocab,) or not torch.equal(t2d.bool().nonzero()[:, 0], ascending)):
        raise CheckpointError(f"{where} has t2d {list(t2d.shape)} with {int(t2d.bool().sum())} tokens, and d2t means "
                              f"other ones, {words} of {vocab}; one of them is wrong, so copy the whole head again.")
    return ids


def _own_embedding(where: str, tensors: dict[str, Tensor], head: Eagle3Head, target: Target) -> None:
    """The embedding of a head that has another width than its target."""
    weight, width = tensors.pop("embed_tokens.weight"), head.config.hidden_size
    if weight.shape != (target.vocab_size, width):
        raise CheckpointError(f"{where} has embed_tokens.weight as {list(weight.shape)}, the target's vocabulary and "
                              f"its own width ask for {[target.vocab_size, width]}; use the head that was trained for "
                              "this target.")
    give_embedding(head, weight, target.dtype)


def _check_rope(where: str, keys: dict) -> None:
    for name in ROPE[:2]:
        part = keys.get(name)
        if not isinstance(part, dict):
            continue
        kind = part.get("rope_type", part.get("type", "default"))
        if "mrope_section" in part or kind not in (*ROPE_INIT_FUNCTIONS, "default"):
            known = ", ".join(sorted({*ROPE_INIT_FUNCTIONS, "default"}))
            what = "an mrope_section, for pictures" if "mrope_section" in part else f"of type {kind!r}"
            raise CheckpointError(f"{where} has a {name} {what}, which is not supported; supported are {known}.")
