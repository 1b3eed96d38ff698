"""Reading what other people's programs wrote: JSON that may be broken, and errors that need a plainer word."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
from pathlib import Path

from ..errors import UserError
from .memory import ran_out

POINTERS = (  # what a clone leaves in a file's place: its beginning, whose it is, what fetches the file
    (b"version https://git-lfs.github.com/spec/", "Git LFS", "git lfs pull"),
    (b"/annex/objects/", "git-annex", "git annex get ."),
)
WEIGHTS = ("model.safetensors", "pytorch_model.bin")


class CheckpointError(UserError):
    """Weights that are missing, broken, or of the wrong kind; the message says which and what to do."""


def read_json(path: Path) -> dict:
    """A JSON object from a file. Raises CheckpointError."""
    refuse_stand_in(path)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        name = hub_id(path.parent)
        raise CheckpointError(f"{name} lacks {path.name}; {remedy(path.parent)}." if name else f"{path} is missing; a "
                              "checkpoint directory holds config.json beside its weights.") from None
    except (OSError, ValueError, RecursionError) as error:  # the last where it nests without end
        raise CheckpointError(f"{path} cannot be read as JSON ({error}); copy the checkpoint again.") from None
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} does not hold a JSON object; copy the checkpoint again.")
    return value


def weight_files(directory: Path, what: str, named: str | None = None) -> list[Path]:
    """The files of a checkpoint's weights, all there: those that transformers takes, safetensors before pickles and one
    file before shards, or the one that the config names. [] where there are none. Raises CheckpointError.

    what: "target" or "head", for the sentence.
    """
    names = [named] if named else [f"{name}{end}" for name in WEIGHTS for end in ("", ".index.json")]
    there = [directory / name for name in names if os.path.lexists(directory / name)]
    first = next((path for path in there if path.is_file()), there[0] if there else None)
    if first is None:
        return []
    refuse_stand_in(first)
    files = _shards(first, what) if first.name.endswith(".index.json") else [first]
    for path in files:
        if not os.path.lexists(path):
            raise CheckpointError(f"The {what} in {called(directory)} lacks {path.name}, which {first.name} names; "
                                  f"{remedy(directory)}.")
        refuse_stand_in(path)
    return files


def _shards(index: Path, what: str) -> list[Path]:
    """The files that an index names. Raises CheckpointError."""
    try:
        where = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
        names = sorted({name for name in where if Path(name).name == name})
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        names = []
    if not names:
        raise CheckpointError(f"The {what} in {called(index.parent)} cannot be loaded: {index.name} does not say under "
                              "\"weight_map\" which file holds which tensor; copy the checkpoint again.")
    return [index.with_name(name) for name in names]


def hub_id(path: Path) -> str:
    """owner/name for a folder of the hub's cache (models--owner--name, or a snapshot in it), "" for any other."""
    path = path.resolve()
    home = path.parent.parent if path.parent.name == "snapshots" else path
    return home.name.removeprefix("models--").replace("--", "/", 1) if home.name.startswith("models--") else ""


def called(directory: Path) -> str:
    """What a sentence calls a checkpoint: its hub id where it lies in the hub's cache, else its path."""
    return hub_id(directory) or str(directory)


def remedy(directory: Path) -> str:
    """How a missing file comes to its place."""
    name = hub_id(directory)
    return f"fetch it with `hf download {name}`" if name else "copy that file too, or fetch the whole checkpoint again"


def refuse_stand_in(path: Path) -> None:
    """Raises CheckpointError where something else stands in the place of a file: a pointer that a clone left, a link to
    nothing, a folder, a web page. Any format may be asked for; a path with nothing at it passes."""
    if path.is_symlink() and not path.exists():
        where = os.readlink(path)
        how = "run `git annex get .` in its folder" if "annex/objects" in where else "fetch or copy it again"
        raise CheckpointError(f"{path} is a link to {where}, where nothing is; {how}.")
    if path.is_dir():
        raise CheckpointError(f"{path} is a folder, where a file of that name belongs; move the file out of it, or "
                              "give the folder that holds the files themselves.")
    if not path.is_file():
        return
    try:
        with open(path, "rb") as file:
            start = file.read(200)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read ({error.strerror}); see to it that you may read it.") from None
    for mark, program, command in POINTERS:
        if start.startswith(mark):
            raise CheckpointError(f"{path} is a {program} pointer, not the file itself; run `{command}` in its folder, "
                                  "or fetch it with `hf download`.")
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        raise CheckpointError(f"{path} is a web page, not the file that it is named for; fetch it anew, with `hf "
                              "download` or from the page's download link.")


@contextlib.contextmanager
def quiet_transformers():
    """transformers prints a table about tensors that do not fit; we raise a sentence instead."""
    from transformers.utils import logging as transformers_logging
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity(transformers_logging.CRITICAL)
    try:
        yield
    finally:
        transformers_logging.set_verbosity(before)


def reason(error: Exception) -> str:
    """Somebody else's error in a few words, to stand inside a sentence of ours. One of memory that ran out goes on as
    what it is: no file is to blame."""
    if ran_out(error):
        raise error
    if isinstance(error, pickle.UnpicklingError):  # PyTorch's own text advises to run what the file holds
        return "not a plain file of tensors, or code instead of weights, which is not run"
    if isinstance(error, KeyError) and error.args and " " not in str(error.args[0]):
        return f"{error.args[0]!r} is unknown or missing"
    text = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    cause = getattr(error, "__cause__", None)
    if text.startswith(("Validation error", "Class validation error")) and cause is not None:
        text = str(cause)  # strict dataclasses wrap the sentence that matters
    lines = text.strip().splitlines()
    return lines[0].strip().rstrip(".:")[:200] if lines else type(error).__name__
