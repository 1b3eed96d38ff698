"""From what a person typed to the token ids a target reads."""

from __future__ import annotations

from jinja2 import TemplateError

from .decoder import DecodeError
from .pair import Pair


def encode(pair: Pair, text: str, chat: bool = False) -> list[int]:
    """Token ids of `text`, as it stands or as a user's turn in the model's chat template. Raises DecodeError."""
    tokenizer = pair.tokenizer
    if tokenizer is None:
        raise DecodeError(f"{pair.name} has no tokenizer; give token ids with --ids instead of text.")
    if not text.strip():
        raise DecodeError("The prompt is empty; type something to decode.")
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes that a terminal passed on although they are no text
        raise DecodeError(f"The prompt {text[:40]!r} is not valid UTF-8 text; type it again.") from None
    if not chat:
        return tokenizer(text, verbose=False)["input_ids"]
    if not tokenizer.chat_template:
        raise DecodeError(f"The tokenizer of {pair.name} has no chat template; decode without --chat.")
    try:
        return tokenizer.apply_chat_template([{"role": "user", "content": text}], add_generation_prompt=True,
                                             return_dict=True, tokenizer_kwargs={"verbose": False})["input_ids"]
    except TemplateError as error:
        raise DecodeError(f"The chat template of {pair.name} does not work ({error}); decode without --chat.") from None
