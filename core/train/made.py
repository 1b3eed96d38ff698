"""What a training folder remembers: which target, text and length made what is in it, so that nothing goes on with what was
made for another. A small JSON file beside the shards, and one beside the state; what it does not say is taken as agreed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path

from ..errors import UserError

NOTE = "made.json"
MAKES = ("rope_parameters", "rms_norm_eps", "hidden_act", "num_attention_heads", "num_key_value_heads", "head_dim")

Facts = dict[str, dict]  # flag -> {said: what the person gave, is: what tells it from another}


def fact(said: object, is_: object = None) -> dict:
    return {"said": str(said), "is": str(said if is_ is None else is_)}


def target_fact(said: str, model, tokenizer) -> dict:
    """A target by its weights, by what its config makes of them, and by its tokenizer: names and folders say little."""
    digest = hashlib.sha256(json.dumps([getattr(model.config, name, None) for name in MAKES], default=str).encode())
    for name, weight in model.state_dict().items():
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        digest.update(weight.detach().float().cpu().contiguous().numpy().data)
    if hasattr(tokenizer, "get_vocab"):
        digest.update(json.dumps([sorted(tokenizer.get_vocab().items()), str(tokenizer.chat_template)]).encode())
    return fact(said, digest.hexdigest())


def text_fact(path: Path) -> dict:
    with open(path, "rb") as file:
        return fact(path, hashlib.file_digest(file, "sha256").hexdigest())


def agree(folder: Path, facts: Facts, remedy: str = "give another --out") -> None:
    """Raises UserError, one sentence, where the folder was made with other facts than these."""
    there = _read(folder / NOTE)
    for flag, now in facts.items():
        old = there.get(flag)
        if isinstance(old, dict) and old.get("is") != now["is"]:
            other = "which has changed since" if old.get("said") == now["said"] else f"not {now['said']}"
            raise UserError(f"What is in {folder} was made with {flag} {old.get('said')}, {other}; {remedy}.")


def remember(folder: Path, facts: Facts) -> None:
    """Write down what makes the folder's files; facts of before stay."""
    there = _read(folder / NOTE)
    if facts.keys() - there.keys():
        part = folder / f".{NOTE}.{os.getpid()}"
        with contextlib.suppress(OSError):  # a folder of shards may be somebody else's
            part.write_text(json.dumps(facts | there, indent=1) + "\n", encoding="utf-8")
            os.replace(part, folder / NOTE)


def _read(path: Path) -> dict:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); it says what made this folder: give another --out.") from None
    return value if isinstance(value, dict) else {}
