"""Who is decoding: a visitor's runs, so that Stop finds them also while they wait in the queue; and how often a run
is sent. Knows sessions by their names, no pages and no models."""

from __future__ import annotations

import itertools
import threading
import time


class Turns:
    """A ticket for every run that was asked for; a visitor's new run ends the one before it."""

    def __init__(self):
        self._numbers = itertools.count(1)
        self._stops: dict[int, threading.Event] = {}
        self._latest: dict[str, int] = {}

    def begin(self, session: str) -> int:
        self.stop(session)
        ticket = self._latest[session] = next(self._numbers)
        self._stops[ticket] = threading.Event()
        return ticket

    def stop_of(self, ticket: int) -> threading.Event:
        """Set when the run should end, possibly before it has begun."""
        return self._stops.setdefault(ticket, threading.Event())

    def done(self, ticket: int) -> None:
        self._stops.pop(ticket, None)

    def stop(self, session: str) -> None:
        event = self._stops.get(self._latest.get(session, 0))
        if event:
            event.set()

    def leave(self, session: str) -> None:
        """The tab was closed."""
        self.stop(session)
        self._latest.pop(session, None)


class Pace:
    """How often a growing run is sent: a few times a second, less often as it gets long, for the browser reads all
    of it each time."""

    def __init__(self):
        self._next = 0.0

    def due(self, characters: int) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + 0.2 + characters / 4e6
        return True
