"""Who is decoding: a visitor's runs, so that Stop finds them also while they wait in the line for the model; and how
often a run is sent. Knows sessions by their names, no pages and no models."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator

from .phrases import Said, refusal, say

LINE = 16     # runs that may wait at once
PULSE = 0.25  # seconds after which a waiting run looks up


class Turns:
    """A ticket for every run that was asked for; a visitor's new run ends the one before it. One run at a time: the
    first in the line."""

    def __init__(self):
        self._numbers = itertools.count(1)
        self._stops: dict[int, threading.Event] = {}
        self._latest: dict[str, int] = {}
        self._line: list[int] = []
        self._lock = threading.Lock()

    def begin(self, session: str | None) -> int:
        """A ticket; one without a session is nobody's, and ends no other."""
        ticket = next(self._numbers)
        self._stops[ticket] = threading.Event()
        if session is not None:
            self.stop(session)
            self._latest[session] = ticket
        return ticket

    def wait(self, ticket: int) -> Iterator[int]:
        """Stand in the line: yields how many runs are ahead, again and again, and ends when this one's turn has come or
        it was stopped. `done` leaves the line. Raises UserError where too many wait already."""
        with self._lock:
            if len(self._line) > LINE:
                raise refusal(say("error.line", n=LINE))
            self._line.append(ticket)
        stop = self.stop_of(ticket)
        while (ahead := self._line.index(ticket)) and not stop.wait(PULSE):
            yield ahead

    def stop_of(self, ticket: int) -> threading.Event:
        """Set when the run should end, possibly before it has begun."""
        return self._stops.setdefault(ticket, threading.Event())

    def done(self, ticket: int) -> None:
        with self._lock:
            if ticket in self._line:
                self._line.remove(ticket)
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
    of it each time. Lines for the person waiting are sent once a second: each one makes the browser look at the run."""

    def __init__(self):
        self._next, self._next_note, self._note = 0.0, 0.0, None

    def due(self, characters: int) -> bool:
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + 0.4 + characters / 2e6
        return True

    def new(self, note: Said) -> bool:
        now = time.monotonic()
        if note == self._note or now < self._next_note:
            return False
        self._note, self._next_note = note, now + 1
        return True
