"""Heads in, fitted to their target: which kind it is, told from its tensors, and EAGLE-1/2 heads in the official
layout.

`head_files.py` reads the folder, `eagle3_heads.py` makes an EAGLE-3 head of it. Every tensor is accounted for: a
missing, surplus or misshapen one is refused by its name.
"""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from ..common.files import CheckpointError, quiet_transformers, read_json, reason
from ..model.eagle import EagleHead
from ..model.head import Head
from ..model.target import Target
from .eagle3_heads import eagle3_head
from .head_files import is_eagle3, read_head
from .head_parts import adopt_embedding, fill, head_config

PADDING = 1024  # tokens: vocabularies are padded to a multiple that is no larger


def load_head(directory: Path, target: Target, target_embedding: bool = False) -> Head:
    """A head for this target, of either kind. Raises CheckpointError.

    Where it brings an embedding that is not the target's, it drafts with its own and a note says so, a sentence;
    target_embedding takes the target's instead.
    """
    raw, tensors = read_head(directory)
    width, fc = target.hidden_size, tensors.get("fc.weight")
    if is_eagle3(raw, tensors) or (fc is not None and fc.shape[-1] == 3 * width):
        head = eagle3_head(directory, raw, tensors, target, target_embedding)
    else:
        head = _eagle_head(directory, raw, tensors, target, target_embedding)
    return head.requires_grad_(False)


def _eagle_head(directory: Path, raw: dict, tensors: dict[str, Tensor], target: Target,
                target_embedding: bool) -> EagleHead:
    width, fc = target.hidden_size, tensors.get("fc.weight")
    for key, ours in (("hidden_size", width), ("vocab_size", target.vocab_size)):
        if key in raw and raw[key] != ours and not (key == "vocab_size" and _may_be_padded(raw[key], ours, tensors)):
            raise CheckpointError(f"The head in {directory} does not fit the target: its {key} is {raw[key]!r}, the "
                                  f"target's is {ours}; use the head that was trained for this target.")
    if fc is not None and fc.shape != (width, 2 * width):
        found = " x ".join(map(str, fc.shape))
        raise CheckpointError(f"The head in {directory} does not fit the target: its fc.weight is {found}; an "
                              f"EAGLE-1/2 head has {width} x {2 * width} with an embedding of {width}, an EAGLE-3 head "
                              f"{width} x {3 * width}; use the head that was trained for this target.")
    try:
        with quiet_transformers():
            config = head_config(raw, target, tensors.get("layers.0.self_attn.q_proj.weight"), width)
            head = EagleHead(config, target.model.model.embed_tokens, bias="fc.bias" in tensors)
    except Exception as error:  # many hands check these numbers
        raise CheckpointError(f"{directory / 'config.json'} does not describe a head ({reason(error)}); copy the head "
                              "again.") from None
    if raw.get("bias", True) != ("fc.bias" in tensors):
        raise CheckpointError(f"The head in {directory} has {'no ' * ('fc.bias' not in tensors)}fc.bias, its "
                              f"config.json says \"bias\": {str(raw.get('bias', True)).lower()} (true where absent); "
                              "one of them is wrong.")
    adopt_embedding(tensors, head, target, directory, target_embedding)
    fill(head, tensors, directory, "EAGLE-1/2")
    head.frequent = _frequent(directory, target)
    return head


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
        raise CheckpointError(f"{path} should hold different token ids below {target.vocab_size} under \"token_ids\"; "
                              "copy the head again, or delete the file.")
    return tuple(ids)
