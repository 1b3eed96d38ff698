"""What on the page has words, and which: told once, where a component is made, and asked again for another language.

Knows no gradio and makes no updates: it is handed what makes a component, and gives back the words.
"""

from __future__ import annotations

from collections.abc import Callable

from ..story.language import ENGLISH
from ..story.phrases import phrase

Words = Callable[[str, str], dict]  # (language, pair) -> the settings of a component that are words


class Spoken:
    """Makes components with their words in English, and keeps which words they are. Some depend on the pair chosen."""

    def __init__(self, pair: str = ""):
        self.parts: list = []
        self._pair, self._words = pair, []

    def __call__(self, make: Callable, *inputs, says: dict[str, str] | Words, **settings):
        """make(*inputs, **settings) and its words: `says` has the key of a phrase for each setting, or is a function."""
        words = says if callable(says) else lambda language, _: {name: phrase(key, language) for name, key in says.items()}
        self.parts.append(make(*inputs, **words(ENGLISH, self._pair), **settings))
        self._words.append(words)
        return self.parts[-1]

    def words(self, language: str, pair: str) -> list[dict]:
        """The words of every part, in the order of `parts`."""
        return [words(language, pair) for words in self._words]
