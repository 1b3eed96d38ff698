"""Live decoding for the page: one pair, loaded on first use, and runs that can be stopped.

The only part of the viewer that reaches for the decoder; torch comes in when the first run starts, not before.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from core.config import DecodeConfig
from core.errors import UserError
from core.events import TraceBuilder
from core.pairs import DEFAULT

from .lines import PageLines


@dataclass(frozen=True, slots=True)
class Source:
    """Where the pair comes from: a name, or two directories or hub ids."""

    pair: str | None = DEFAULT
    target: str | None = None
    draft: str | None = None
    device: str = "auto"

    @property
    def name(self) -> str:
        return f"{self.target} + {self.draft}" if self.target else self.pair


@dataclass(frozen=True, slots=True)
class Update:
    """What a run has to say: a line for the person waiting, or the page lines so far."""

    note: str = ""
    lines: str = ""
    done: bool = False


class Engine:
    """Holds the pair and decodes with it. One run at a time is the caller's business (gradio's queue)."""

    def __init__(self, source: Source):
        self.source = source
        self._pair = None
        self._lock = threading.Lock()

    @property
    def loaded(self) -> bool:
        return self._pair is not None

    def run(self, prompt: str, chat: bool, config: DecodeConfig, stop: threading.Event) -> Iterator[Update]:
        """Decode, yielding an Update per finished round. Raises UserError, a sentence for the page.

        `stop` ends the run at the next event, and its trace says `cancelled`. A run that breaks off after its first
        round yields what it has, then raises.
        """
        yield from self._load()
        if stop.is_set():
            return
        from core import stream
        from core.chat import encode

        builder, page, lines = TraceBuilder(), PageLines(), ""
        events = stream(self._pair, encode(self._pair, prompt, chat), config, prompt)
        yield Update("Reading the prompt.")
        try:
            for event in events:
                line = builder.add(event)
                if line:
                    lines += page.add(line)
                    if builder.document["rounds"]:  # until the first round is there, the last good run stays
                        yield Update(lines=lines)
                if stop.is_set():
                    break
        except ValueError:
            if builder.document.get("rounds"):
                yield Update(lines=lines + page.add(builder.cancel()), done=True)
            raise
        finally:
            events.close()
        if builder.document.get("rounds") and "output" not in builder.document:
            lines += page.add(builder.cancel())
        yield Update(lines=lines if "output" in builder.document else "", done=True)

    def trace(self, prompt: str, chat: bool, config: DecodeConfig) -> dict:
        """A whole run as the trace document."""
        for _ in self._load():
            pass
        from core import decode
        from core.chat import encode
        return decode(self._pair, encode(self._pair, prompt, chat), config, prompt).to_dict()

    def _load(self) -> Iterator[Update]:
        """Load the pair in a thread of its own, telling how it goes."""
        if self.loaded:
            return
        notes: queue.Queue = queue.Queue()
        failure: list[Exception] = []

        def work():
            try:
                with self._lock:
                    if self._pair is None:
                        self._pair = self._fetch(lambda message, fraction=None: notes.put(message))
            except Exception as error:  # handed to the waiting run below, whatever it is
                failure.append(error)
            finally:
                notes.put(None)

        yield Update(f"Loading {self.source.name}.")
        threading.Thread(target=work, daemon=True).start()
        while (note := notes.get()) is not None:
            yield Update(note + ".")
        if failure:
            if isinstance(failure[0], ValueError):
                raise failure[0]
            raise UserError(f"{self.source.name} could not be loaded ({failure[0]}); look at the terminal for more.") \
                from failure[0]

    def _fetch(self, progress):
        from core import load_named, load_pair
        if self.source.target:
            progress(f"Loading {self.source.name}")
            return load_pair(self.source.target, self.source.draft, self.source.device)
        return load_named(self.source.pair, self.source.device, progress=progress)
