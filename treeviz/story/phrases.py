"""The words of the page around the view: form, tabs, charts, progress and errors, in every language (`language.py`)."""

from __future__ import annotations

from core.errors import UserError

from .language import LANGUAGES, Said, section


def phrase(key: str, language: str = "en", **values) -> str:
    """A text in one language. A value that is itself `Said` is taken in the same language."""
    texts = section("page", language)
    if values.get("n") == 1 and f"{key}.one" in texts:
        key += ".one"
    values = {name: value[language] if isinstance(value, dict) else value for name, value in values.items()}
    return texts[key].format(**values)


def say(key: str, **values) -> Said:
    """A text in every language, as plain data: whoever shows it chooses, and may choose again."""
    return {language: phrase(key, language, **values) for language in LANGUAGES}


def refusal(said: Said, kind: type[UserError] = UserError) -> UserError:
    """An error to raise that says the same in every language; as text it is English."""
    error = kind(said["en"])
    error.said = said
    return error


def said_by(error: Exception | str, lead: str) -> Said:
    """What an error says in every language. One of the decoder's is English; where the page is not, `lead` says before it
    what happened and what to do."""
    return getattr(error, "said", None) or say(lead, error=str(error))
