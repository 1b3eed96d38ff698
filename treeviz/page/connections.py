"""How many connections there are, and how long one may say nothing: uvicorn leaves both to a proxy in front of it, which most
pages do not have. A thousand open connections that ask for nothing would be all that a usual machine gives one program.

Knows uvicorn's protocols, which speak either of its parsers; nothing of the page.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

MOST = 4096    # connections at once, fewer where the machine gives this program fewer files
SILENT = 20    # seconds in which the head of a request must have come


def room() -> int:
    """As many files as the machine gives, half of them for connections. Returns how many connections that is."""
    with suppress(ImportError):  # of Unix
        import resource
        limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 4 * MOST if most == resource.RLIM_INFINITY else min(most, 4 * MOST)
        if limit != resource.RLIM_INFINITY and limit < wanted:
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit != resource.RLIM_INFINITY:
            return max(1, min(MOST, limit // 2))
    return MOST


def bound_connections(server) -> None:
    """Gives a uvicorn server that runs the bounds, for the connections that come from now on."""
    server.config.http_protocol_class = _bounded(server.config.http_protocol_class, room())


def _bounded(usual: type, most: int) -> type:
    class Bounded(usual):
        _waiting, _asked = None, False

        def connection_made(self, transport):
            super().connection_made(transport)
            self._since = self.loop.time()
            self._expect()
            if len(self.connections) > most:
                _make_room(self.connections, most)

        def data_received(self, data):
            super().data_received(data)
            self._expect()

        def connection_lost(self, exc):
            if self._waiting:
                self._waiting.cancel()
            super().connection_lost(exc)

        @property
        def asks(self) -> bool:
            """Is a request being answered?"""
            return self.cycle is not None and not self.cycle.response_complete

        def _expect(self):
            self._asked = self._asked or self.asks
            if not self._waiting:
                self._waiting = self.loop.call_later(SILENT, self._end)

        def _end(self):
            self._waiting = None
            if self.asks or self._asked:  # since the last look: what comes after the answer has its own time
                self._asked = self.asks
                self._expect()
            else:
                self.transport.abort()

    return Bounded


def _make_room(connections: set, most: int) -> None:
    """Whoever has the most gives one: the oldest that asks for nothing, else the newest."""
    places = {one: one.client[0] if one.client else "" for one in connections if not one.transport.is_closing()}
    if len(places) > most:
        held = Counter(places.values())
        theirs = [one for one, place in places.items() if place == max(held, key=held.get)]
        idle = [one for one in theirs if not getattr(one, "asks", True)]  # what came before the bounds is let be
        given = min(idle, key=lambda one: one._since) if idle else max(theirs, key=lambda one: getattr(one, "_since", 0))
        given.transport.abort()
