"""The words of every language: one file each in `assets/words/`, and a language is there when its file is.

A text may hold {names} to be filled in; where there is "x.one", it is what "x" says when n is 1. What a language lacks is said in
English. Names of settings (top_k, temperature) are the same in every language.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

HOME = Path(__file__).resolve().parents[2] / "assets" / "words"
ENGLISH = "en"
LANGUAGES = (ENGLISH, *sorted(path.stem for path in HOME.glob("*.json") if path.stem != ENGLISH))

Said = dict[str, str]  # a sentence, by language


@cache
def section(name: str, language: str = ENGLISH) -> dict:
    """The texts of a part of the program: "story", "page" or "view" (`assets/view/words.js` reads that one). A stranger may ask
    for any language, and gets English."""
    english = _file(ENGLISH)[name]
    return english | _file(language).get(name, {}) if language in LANGUAGES else english


@cache
def _file(language: str) -> dict:
    return json.loads((HOME / f"{language}.json").read_text(encoding="utf-8"))
