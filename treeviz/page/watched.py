"""A pair that can be looked at, and broken off, between two layers of its target. Knows no pages and no runs' words."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, TimeoutError

from .runs import PULSE


class Stopped(Exception):
    """Raised inside a pass of the target that nobody waits for any more."""


class Watched:
    """A pair whose target can be looked at, and broken off, between two of its layers. What is broken off is one run's
    pass, in that run's own thread; another run of the same pair would not feel it."""

    def __init__(self, pair):
        self.pair, self._layers, self._here = pair, pair.target.layers, threading.local()
        for layer in pair.target.model.model.layers:
            layer.register_forward_pre_hook(self._between)

    def _between(self, *_) -> None:
        if (reading := getattr(self._here, "reading", None)) is not None:
            reading.between()

    def look_up(self, events: Iterator, passes: int = 1) -> Iterator:
        """A `Reading` of the events."""
        return Reading(events, self._layers * passes, self._here)


class Reading:
    """The events of one run, and None whenever none has come for a moment. Closing it breaks the run off."""

    def __init__(self, events: Iterator, layers: int, here: threading.local):
        self._events, self._layers, self._passed, self.stopped = events, layers, 0, False
        self._worker = ThreadPoolExecutor(1, initializer=lambda: setattr(here, "reading", self))
        self._coming = None

    def between(self) -> None:
        """Called in the run's thread, before each layer of the target."""
        if self.stopped:
            raise Stopped
        self._passed += 1

    @property
    def share(self) -> float | None:
        """How much of the first pass, the one over the prompt, is done; None when the next has begun."""
        return max(self._passed - 1, 0) / self._layers if self._passed <= self._layers else None

    def __iter__(self) -> Iterator:
        while True:
            self._coming = self._coming or self._worker.submit(next, self._events, None)
            try:
                event = self._coming.result(PULSE)
            except TimeoutError:
                yield None
                continue
            self._coming = None
            if event is None:
                return
            yield event

    def close(self) -> None:
        """The worker ends at the next layer, and is waited for."""
        self.stopped = True
        self._worker.shutdown()
        self._events.close()
