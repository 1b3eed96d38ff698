"""Reading what other people's programs wrote: JSON that may be broken, and errors that need a plainer word."""

from __future__ import annotations

import contextlib
import json
import pickle
from pathlib import Path

from transformers.utils import logging as transformers_logging

from .errors import UserError


class CheckpointError(UserError):
    """Weights that are missing, broken, or of the wrong kind; the message says which and what to do."""


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


@contextlib.contextmanager
def quiet_transformers():
    """transformers prints a table about tensors that do not fit; we raise a sentence instead."""
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity(transformers_logging.CRITICAL)
    try:
        yield
    finally:
        transformers_logging.set_verbosity(before)


def reason(error: Exception) -> str:
    """Somebody else's error in a few words, to stand inside a sentence of ours."""
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
