"""The recorded runs that come with the program, and traces that a person brings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.common.ink import LINES, visible
from core.trace import Trace, TraceError

from ..story.language import LANGUAGES, Said, section
from ..story.lines import each_line
from ..story.phrases import refusal, say

HOME = Path(__file__).resolve().parents[2] / "assets" / "traces"
ENDINGS = (".json.gz", ".jsonl.gz", ".jsonl", ".json")


@dataclass(frozen=True, slots=True)
class Recorded:
    name: str
    path: Path
    said: Said  # one sentence, in every language

    @property
    def sentence(self) -> str:
        """The English one: it also stands for the run where one is chosen."""
        return self.said["en"]


def recorded(extra: str | None = None) -> list[Recorded]:
    """The runs on offer, those listed in `gallery.json` first and in its order; `extra` is a file of the user's."""
    told = _told()
    found = {_name(path): path for path in sorted(HOME.glob("*")) if path.name.endswith(ENDINGS) and _name(path) != "gallery"}
    listed = [*(name for name in told if name in found), *(name for name in found if name not in told)]
    runs: list[Recorded] = []
    if extra:
        runs.append(Recorded(_name(Path(extra)), Path(extra), say("recorded.yours", name=visible(Path(extra).name, " "))))
    for name in listed:
        sentence = told.get(name, visible(name, " "))
        if any(run.sentence == sentence for run in runs):  # a run is chosen by its sentence
            sentence += f" ({visible(name, ' ')})"
        runs.append(Recorded(name, found[name], _said(name, sentence)))
    return runs


def _told() -> dict[str, str]:
    """The sentences of `gallery.json` by the name of the run. It may have been edited: what is no sentence is left out."""
    try:
        told = json.loads((HOME / "gallery.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    said = told.items() if isinstance(told, dict) else ()
    return {name: " ".join(visible(text, LINES).split()) for name, text in said if isinstance(text, str) and text.strip()}


def lines_in(path: str | Path, name: str = "") -> Iterator[str]:
    """The page lines of a trace file, one by one; all of it is checked before the first. Raises TraceError, one sentence."""
    try:
        yield from each_line(Trace.load(path), name)
    except TraceError:
        raise
    except Exception as error:  # whatever a stranger's file may do: the page goes on, and says so
        raise refusal(say("error.file", path=path, error=type(error).__name__), TraceError) from error


def _said(name: str, english: str) -> Said:
    return {language: section("page", language).get(f"run.{name}", english) for language in LANGUAGES}


def _name(path: Path) -> str:
    for ending in ENDINGS:
        if path.name.endswith(ending):
            return path.name.removesuffix(ending)
    return path.name
