"""What a token looks like: what has no ink made visible (`core/common/ink.py`), parts of characters as bytes.

Only for looking at. The text that a run wrote is put together from the tokens themselves (`lines.py`).
"""

from __future__ import annotations

from functools import lru_cache

from core.common.ink import visible

MINUS = "\u2212"


def show(word) -> str:
    """The label of a `TokenText`: never empty, on one line, and without characters that reorder their neighbours."""
    if word.bytes is not None:
        return "⟨" + word.bytes.upper() + "⟩" if len(word.bytes) == 2 else "⟨" + _spaced(word.bytes.upper()) + "⟩"
    return _label(word.text)


@lru_cache(2**14)
def _label(text: str) -> str:
    return visible(text) or "∅"


def _spaced(digits: str) -> str:
    return " ".join(digits[i:i + 2] for i in range(0, len(digits), 2))


def number(value: float, digits: int = 2) -> str:
    """A number with a true minus sign, as the page writes it."""
    text = f"{value:.{digits}f}"
    return text.replace("-", MINUS) if float(text) else text.lstrip("-")
