"""What a caller hands over as a prompt, a pair and settings, looked at before anything is decoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from ..config import DecodeConfig
from ..errors import DecodeError
from ..limits import check_input
from ..model.pair import Pair

Prompt = Iterable[int] | Mapping  # what `token_ids` makes ids of

GIVE = "give a list of token ids, like pair.tokenizer(text)[\"input_ids\"]"


def ready(pair: Pair, prompt_ids: Prompt, config: DecodeConfig | None,
          prompt: str | None = None) -> tuple[list[int], DecodeConfig]:
    """The prompt as a list of ids, and the settings. Raises DecodeError, one sentence, for a pair, prompt or settings that
    are none or do not fit each other."""
    if not hasattr(pair, "target"):
        raise DecodeError(f"The pair is {_shown(pair)}; load one first, like pair = load_named(\"storybook\").")
    if not isinstance(config, DecodeConfig | None):
        raise DecodeError(f"The config is {_shown(config)}; give a DecodeConfig, like DecodeConfig(max_new_tokens=64).")
    if not isinstance(prompt, str | None):
        raise DecodeError(f"prompt is {_shown(prompt)}; give the text that the ids came from, or leave it out.")
    if prompt and any("\ud800" <= character <= "\udfff" for character in prompt):
        raise DecodeError(f"prompt is {_shown(prompt)}, which holds half a surrogate pair and is no text; leave it out.")
    ids, config = token_ids(prompt_ids), config or DecodeConfig()
    check_input(pair, ids, config)
    return ids, config


def token_ids(prompt: Prompt) -> list[int]:
    """Plain ids from what people hold in their hands: any sequence, iterator, array or tensor of whole numbers, of shape
    [n] or [1, n], or a tokenizer's encoding (a mapping with `input_ids`) of one text. Raises DecodeError."""
    ids = _numbers(_of_encoding(prompt) if isinstance(prompt, Mapping) else prompt)
    if ids and all(isinstance(part, list | tuple) for part in ids):
        if len(ids) > 1:
            raise DecodeError(f"The prompt has {len(ids)} rows, and one prompt is decoded at a time; give one of them.")
        ids = _numbers(ids[0])
    for place, part in enumerate(ids):
        if isinstance(part, bool) or not isinstance(part, int):
            raise DecodeError(f"The prompt holds {_shown(part)} at place {place} where a whole number should be; {GIVE}.")
    return ids


def _of_encoding(encoding: Mapping):
    if "input_ids" not in encoding:
        raise DecodeError(f"The prompt is {_shown(encoding)} without input_ids; {GIVE}.")
    mask = encoding.get("attention_mask")
    mask = [] if mask is None else _numbers(mask)
    if not all(mask[0] if mask and isinstance(mask[0], list | tuple) else mask):
        raise DecodeError("The prompt is padded (its attention_mask holds a 0); encode it without padding.")
    return encoding["input_ids"]


def _numbers(values) -> list:
    """A list of Python's own numbers, or of lists of them, whichever library the values come from."""
    values = _plain(values)
    if isinstance(values, str | bytes | bytearray | memoryview | Mapping | Set) or not isinstance(values, Iterable):
        raise DecodeError(f"The prompt is {_shown(values)}; {GIVE}.")
    return [_plain(part) for part in values]


def _plain(value):
    try:
        return value.tolist() if hasattr(value, "tolist") else value  # of numpy, torch and their like
    except (RuntimeError, TypeError):  # a tensor without numbers, as on torch's device "meta"
        return value


def _shown(value) -> str:
    name = type(value).__name__
    if isinstance(value, str):
        return f"the text {value!r:.40}"
    return repr(value) if isinstance(value, int | float | None) else f"{'an' if name[:1] in 'aeiouAEIOU' else 'a'} {name}"
