"""What would leave no ink, or act on a terminal instead of standing in it, as a mark that can be seen.

One rule, by Unicode's own properties, for the tree, the text and the terminal. Only for looking at: nothing that is
saved, decoded or compared comes by here.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from unicodedata import category

PICTURES = {" ": "·", "\n": "↵", "\r": "␍", "\t": "⇥", "\x7f": "␡", "\u00a0": "⍽", "\u2028": "↵", "\u2029": "↵"}
LINES = " \n\t"  # these stay themselves where text is read rather than inspected
JOINERS = "\u200c\u200d\ufe0e\ufe0f"  # and these where it comes piece by piece: they act on their neighbours only

# controls, formats, halves of pairs, private use, and every kind of space
_INKLESS = {"Cc", "Cf", "Cs", "Co", "Zs", "Zl", "Zp"}
# of the other categories: Default_Ignorable_Code_Point, what is no character, and blanks under other names
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
                    "\U000e0000-\U000e0fff\ufdd0-\ufdef\u2800\u2d7f\ufffc\U0001107f\U00013430-\U0001343f\U00016fe4\U0001bc9d\U0001d159]")


def visible(text: str, keep: str = "") -> str:
    """`text` with a mark in place of every character without ink, but for those in `keep`. A joiner or a selector
    stays where it shapes a picture, as in a flag or a family; alone, or between letters, it is named."""
    return "".join(c if c in keep or not _mark(c) or _shapes(text, i) else _mark(c) for i, c in enumerate(text))


def say(line: object, end: str = "\n", file=None, flush: bool = False) -> None:
    """Print one line for a person: whatever a file or a name holds, nothing in it acts on the terminal."""
    print(visible(str(line), " "), end=end, file=file or sys.stdout, flush=flush)


def sentence(error: Exception) -> str:
    """An error on one line, and nothing in it that is invisible."""
    return " ".join(visible(str(error), LINES).split())


@lru_cache(4096)
def _mark(char: str) -> str:
    """The mark for a character without ink, "" for one that has some."""
    if char in PICTURES:
        return PICTURES[char]
    if char < " ":
        return chr(0x2400 + ord(char))
    if category(char) in _INKLESS or _BLANK.match(char) or ord(char) & 0xFFFE == 0xFFFE:
        return f"⟨U+{ord(char):04X}⟩"
    return ""


def _shapes(text: str, i: int) -> bool:
    before, after = text[i - 1:i] if i else "", text[i + 1:i + 2]
    if text[i] in "\ufe0e\ufe0f":
        return _pictorial(before) or after == "\u20e3"  # a keycap
    return text[i] == "\u200d" and _pictorial(text[max(0, i - 2):i].rstrip("\ufe0f")[-1:]) and _pictorial(after)


def _pictorial(char: str) -> bool:
    return char > "~" and not char.isalnum() and not _mark(char) and category(char)[0] != "M"
