"""The recorded runs that come with the program, and traces that a person brings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core.common.ink import visible
from core.trace import Trace, TraceError

from ..story.language import ENGLISH, LANGUAGES, Said, section
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
        return self.said[ENGLISH]


def recorded(extra: str | None = None) -> list[Recorded]:
    """The runs on offer, those with a sentence first and in its order (section "runs" of the words); `extra` is a file
    of the user's."""
    found = {_name(path): path for path in sorted(HOME.glob("*")) if path.name.endswith(ENDINGS)}
    told = section("runs")
    runs: list[Recorded] = []
    if extra:
        runs.append(Recorded(_name(Path(extra)), Path(extra), say("recorded.yours", name=visible(Path(extra).name, " "))))
    for name in [*(name for name in told if name in found), *(name for name in found if name not in told)]:
        said = {language: section("runs", language).get(name, visible(name, " ")) for language in LANGUAGES}
        if any(run.sentence == said[ENGLISH] for run in runs):  # a run is chosen by its sentence
            said = {language: f"{sentence} ({visible(name, ' ')})" for language, sentence in said.items()}
        runs.append(Recorded(name, found[name], said))
    return runs


def lines_in(path: str | Path, name: str = "") -> Iterator[str]:
    """The page lines of a trace file, one by one; all of it is checked before the first. Raises TraceError, one sentence."""
    try:
        yield from each_line(Trace.load(path), name)
    except TraceError:
        raise
    except Exception as error:  # whatever a stranger's file may do: the page goes on, and says so
        raise refusal(say("error.file", path=path, error=type(error).__name__), TraceError) from error


def _name(path: Path) -> str:
    for ending in ENDINGS:
        if path.name.endswith(ending):
            return path.name.removesuffix(ending)
    return path.name
