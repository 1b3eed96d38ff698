"""What the page may show, by name: the recorded runs, and those that visitors decoded or brought.

The page's value is a reference, `run:recorded/sky` or `run:live/<an unguessable name>`; the lines stand behind it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from core.trace import TraceError

from .gallery import Recorded, lines_in
from .runs import Run, Runs, whole


@lru_cache(maxsize=16)
def _read(path: Path, name: str) -> Run:
    return whole("".join(lines_in(path, name)))


class Shelf:
    """`runs` are those of visitors, `recorded` those on offer to everybody."""

    def __init__(self, recorded: list[Recorded], runs: Runs):
        self.recorded = {run.sentence: run for run in recorded}
        self._runs, self._by_name = runs, {run.name: run for run in reversed(recorded)}  # of equal names the first

    def first(self, wanted: str | None) -> str | None:
        """The sentence of the run to open with: the first that can be read. Raises TraceError for one that is `wanted`."""
        for sentence, run in self.recorded.items():
            try:
                _read(run.path, run.name)
                return sentence
            except TraceError:
                if wanted:
                    raise
        return None

    def pick(self, sentence: str) -> str:
        """The reference to a recorded run. Raises TraceError where it cannot be read."""
        run = self.recorded[sentence]
        _read(run.path, run.name)
        return f"run:recorded/{run.name}"

    @staticmethod
    def live(run: Run) -> str:
        return f"run:live/{run.name}"

    def find(self, shelf: str, name: str) -> Run | None:
        """What stands behind the two parts of a reference, None where nothing does (any more)."""
        if shelf == "live":
            return self._runs.found(name)
        if shelf != "recorded" or name not in self._by_name:
            return None
        try:
            return _read(self._by_name[name].path, name)
        except TraceError:
            return None

    def lines(self, reference: str | None) -> str | None:
        """All the lines that a reference has now."""
        found = self.find(*str(reference).removeprefix("run:").split("/", 1)) if "/" in str(reference) else None
        return None if found is None else "".join(found.lines())
