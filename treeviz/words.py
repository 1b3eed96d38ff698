"""What a token looks like: whitespace and control characters made visible, parts of characters as bytes.

Only for looking at. The text that a run wrote is put together from the tokens themselves (`lines.py`).
"""

from __future__ import annotations

import unicodedata

PICTURES = {" ": "·", "\n": "↵", "\r": "␍", "\t": "⇥", "\x7f": "␡", "\u00a0": "⍽", "\u2028": "↵", "\u2029": "↵"}
MINUS = "\u2212"


def show(word) -> str:
    """The label of a `TokenText`: never empty, on one line, and without characters that reorder their neighbours."""
    if word.bytes is not None:
        return "⟨" + word.bytes.upper() + "⟩" if len(word.bytes) == 2 else "⟨" + _spaced(word.bytes.upper()) + "⟩"
    return "".join(_visible(c) for c in word.text) or "∅"


def _spaced(digits: str) -> str:
    return " ".join(digits[i:i + 2] for i in range(0, len(digits), 2))


def _visible(char: str) -> str:
    if char in PICTURES:
        return PICTURES[char]
    if char < " ":
        return chr(0x2400 + ord(char))
    nothing = ord(char) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(char) <= 0xFDEF  # no characters: an SVG may not hold them
    if nothing or (unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in "\u200d\ufe0f"):
        return f"⟨U+{ord(char):04X}⟩"
    return char


def number(value: float, digits: int = 2) -> str:
    """A number with a true minus sign, as the page writes it."""
    text = f"{value:.{digits}f}"
    return text.replace("-", MINUS) if float(text) else text.lstrip("-")
