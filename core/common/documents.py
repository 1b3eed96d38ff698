"""Training text as documents: a plain text, or records that hold a text or a conversation, as the common sets spell them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import UserError
from .files import reason
from .records import is_text, read_text, records

WHAT = "The training text"
ROLES = {"human": "user", "gpt": "assistant", "chatgpt": "assistant", "bing": "assistant", "bard": "assistant"}  # ShareGPT's

Document = str | list[dict]  # a text, or the turns of a conversation: {role, content}


def documents(source: Path) -> Iterator[tuple[str, Document]]:
    """The documents of a file, each with the place it stands at: the whole of a text file, else a record of JSON lines or
    of one JSON array. Raises UserError, one sentence with the place."""
    if Path(source).suffix.lower() not in (".json", ".jsonl", ".ndjson"):
        yield str(source), read_text(source, WHAT).replace("\r\n", "\n").replace("\r", "\n")
        return
    found = list(records(source, WHAT))
    if found and all(_is_turn(record) for _, record in found):
        found = [(str(source), [record for _, record in found])]  # one conversation, a turn an entry
    for where, record in found:
        yield where, _document(record, where)


def rendered(document: Document, tokenizer, where: str) -> str:
    """A document as the text that the target reads: a conversation in its chat template. Raises UserError."""
    if isinstance(document, str):
        return document
    if not getattr(tokenizer, "chat_template", None):
        raise UserError(f"{where} is a conversation, and the target has no chat template; give lines with \"text\".")
    try:
        text = tokenizer.apply_chat_template(document, tokenize=False)
    except Exception as error:  # a template is a program of somebody else's
        raise UserError(f"{where} does not fit the target's chat template ({reason(error)}); leave it out.") from None
    if any(turn["role"] == "user" and turn["content"].strip() not in text for turn in document):
        raise UserError(f"The target's chat template loses what the user says in {where}; give lines with \"text\".")
    return text


def _document(record: object, where: str) -> Document:
    if isinstance(record, dict):
        named = [record[key] for key in ("text", "messages", "conversations") if record.get(key) is not None]
        record = named[0] if named else None
    if isinstance(record, list):
        turns = [_turn(turn, f"{where}, turn {number}") for number, turn in enumerate(record, start=1)]
        while turns and turns[0]["role"] == "assistant":  # ShareGPT's may begin in the middle; templates refuse that
            turns.pop(0)
        return turns or ""
    if not is_text(record):
        raise UserError(f'{where} is not training text; give {{"text": "..."}}, {{"messages": [...]}} or '
                        '{"conversations": [...]}.')
    return record


def _is_turn(value: object) -> bool:
    return isinstance(value, dict) and ({"role", "content"} <= set(value) or {"from", "value"} <= set(value))


def _turn(turn: object, where: str) -> dict:
    role, content = (turn.get("role", turn.get("from")), turn.get("content", turn.get("value"))) if _is_turn(turn) else (0, 0)
    if isinstance(content, list) and content and all(isinstance(part, dict) and is_text(part.get("text")) for part in content):
        content = "".join(part["text"] for part in content)
    if not is_text(role) or not is_text(content):
        raise UserError(f'{where} is not a message with text; give {{"role": "user", "content": "..."}}, or leave it out.')
    return {"role": ROLES.get(role.lower(), role), "content": content}
