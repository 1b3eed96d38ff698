"""The words of every language: one file each in `assets/words/`, and a language is there when its file is.

A file has a `name`, what stands on the `switch`, and four sections: "view" (what the browser says,
`assets/view/words.js`), "story" (the sentences of the frames), "page" (form, charts, errors) and "runs" (a sentence for
each recorded run). A text may hold {names} to be filled in; "x.one" is what "x" says where n is 1, "x@policy" what it
says of that policy. What a language lacks is said in English, which has everything; `python -m treeviz.story.language`
lists it. Names of settings (top_k) are the same in every language.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path

from core.errors import UserError

HOME = Path(__file__).resolve().parents[2] / "assets" / "words"
ENGLISH = "en"
LANGUAGES = (ENGLISH, *sorted(path.stem for path in HOME.glob("*.json") if path.stem != ENGLISH))

Said = dict[str, str]  # a sentence, by language


@cache
def section(name: str, language: str = ENGLISH) -> dict:
    """The texts of a part of the program. A stranger may ask for any language, and gets English."""
    english = _file(ENGLISH)[name]
    own = _file(language).get(name, {}) if language in LANGUAGES else english
    return {key: text for key, text in english.items() if not own.keys() & _general(key)} | own


def template(part: str, key: str, language: str = ENGLISH, n: int | None = None, policy: str = "") -> str:
    """The text of a key in a section; where there is one of its own for n = 1, or for the policy, that one."""
    texts = section(part, language)
    for name in [f"{key}.one"] * (n == 1) + [key]:
        for spelled in (f"{name}@{policy}", name):
            if spelled in texts:
                return texts[spelled]
    raise KeyError(f"assets/words/{ENGLISH}.json has no {key} in its section {part}")


@cache
def pieces(text: str) -> list[str]:
    """Text and {names}, in turn."""
    return re.split(r"\{(\w+)\}", text)


def preferred(header: str) -> str:
    """The language that a browser asks for in its header Accept-Language, the first that there is."""
    asked = (tag.strip().split("-")[0].split(";")[0].lower() for tag in header.split(","))
    return next((code for code in asked if code in LANGUAGES), ENGLISH)


# -- what a file may hold ----------------------------------------------------------------------------------------------


@cache
def _file(language: str) -> dict:
    """Raises UserError, a sentence that says what to mend."""
    path = HOME / f"{language}.json"
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}); mend it, or take the file away.") from None
    for fault in faults(words, words if language == ENGLISH else _file(ENGLISH)):
        raise UserError(f"{path}: {fault}; mend it, or take the file away.")
    return words


def flat(part, place: str = "") -> dict[str, str]:
    """Every text by its place: page/decode, view/kind/root, view/intro/0."""
    if isinstance(part, dict | list):
        entries = part.items() if isinstance(part, dict) else enumerate(part)
        places = ((f"{place}/{key}" if place else key, value) for key, value in entries)
        return {at: text for where, value in places for at, text in flat(value, where).items()}
    return {place: part}


def faults(words: dict, english: dict) -> list[str]:
    """What of a file cannot be used: texts that nothing asks for, {names} that nothing fills in, what is no text."""
    if not isinstance(words, dict):
        return ["it is no JSON object with sections"]
    for name, part in english.items():
        if not isinstance(words.get(name, part), type(part)):
            return [f"{name} is no {'section' if isinstance(part, dict) else 'text'}"]
    known, found = flat(english), []
    for place, text in flat(words).items():
        like = [name for name in (place, *_general(place)) if name in known]
        if not like:
            found.append(f"nothing asks for {place}")
        elif not isinstance(text, str):
            found.append(f"{place} is no text")
        elif strange := set(pieces(text)[1::2]) - {name for key in like for name in pieces(known[key])[1::2]}:
            found.append(f"{place} has {{{min(strange)}}}, which nothing fills in")
        elif "{" in "".join(pieces(text)[::2]):
            found.append(f"{place} has a {{ without a name")
    for name, part in english.items():
        for key, value in part.items() if isinstance(part, dict) else ():
            if isinstance(value, list) and len(flat(words.get(name, {}).get(key, value))) != len(flat(value)):
                found.append(f"{name}/{key} has not as many texts as the English one")
    return found


def missing(language: str) -> list[str]:
    """The places of the texts that a language leaves to English. What only English has to say of 1 may be left out."""
    ours = flat(_file(language))
    return [place for place in flat(_file(ENGLISH)) if place not in ours and not ours.keys() & _general(place)]


def _general(key: str) -> set[str]:
    """What a text is a special case of: "a" of "a.one", "a@chain"; both and "a.one" of "a.one@chain"."""
    bare, _, policy = key.partition("@")
    base = bare.removesuffix(".one")
    return {bare, base, f"{base}@{policy}" if policy else base} - {key}


def main(asked: list[str]) -> int:
    """How far every language is, or those that are asked for. Exit code 2 and a sentence where a file is not sound."""
    try:
        return _tell(asked or LANGUAGES)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _tell(languages) -> int:
    for language in languages:
        if language not in LANGUAGES:
            raise UserError(f"There is no language {language!r}; there is {', '.join(LANGUAGES)}.")
        left = missing(language)
        how = f"{len(left)} texts left to English" if left else "whole"
        print(f"{language}: {_file(language).get('name', language)}, {how}", *left, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
