"""The words of the page around the view: form, tabs, charts, progress and errors, in every language (`language.py`)."""

from __future__ import annotations

from core.errors import UserError

from .language import ENGLISH, LANGUAGES, Said, pieces, template


def phrase(key: str, language: str = ENGLISH, **values) -> str:
    """A text in one language. A whole number is written with commas, a value that is itself `Said` in the same language."""
    parts = pieces(template("page", key, language, values.get("n")))
    return "".join(_shown(values[part], language) if place % 2 else part for place, part in enumerate(parts))


def _shown(value, language: str) -> str:
    return value[language] if isinstance(value, dict) else f"{value:,}" if isinstance(value, int) else str(value)


def say(key: str, **values) -> Said:
    """A text in every language, as plain data: whoever shows it chooses, and may choose again."""
    return {language: phrase(key, language, **values) for language in LANGUAGES}


def refusal(said: Said, kind: type[UserError] = UserError) -> UserError:
    """An error to raise that says the same in every language; as text it is English."""
    error = kind(said[ENGLISH])
    error.said = said
    return error


def said_by(error: Exception | str, lead: str) -> Said:
    """What an error says in every language. One of the decoder's is English; where the page is not, `lead` says before it
    what happened and what to do."""
    return getattr(error, "said", None) or say(lead, error=str(error))
