"""How much is being received, from everybody together: what strangers send lies in memory or on the disk until it is whole.

An upload or a request has its own bound, all of them have one together, and whoever has sent the most makes room first, so
that a flood keeps nobody else out. Knows ASGI's `receive`, and no paths.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ..story.language import ENGLISH, Said
from ..story.phrases import say

LARGEST = 65 << 20    # bytes of an upload; the page takes files of 64 MiB, and what is around them is less than one
ASKED = 256 << 10     # of any other request: it is read as JSON, which takes a hundred times as much memory, while all wait
TOGETHER = 256 << 20
PATIENCE = 30         # seconds that a sender may pause


class Refused(Exception):
    """`status` and a sentence, for the one who sends too much or nothing more."""

    def __init__(self, status: int, said: Said):
        super().__init__(said[ENGLISH])
        self.status, self.said = status, said


def too_long(most: int) -> Said:
    return say("refused.long", size=f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB")


class Bodies:
    def __init__(self):
        self._coming: dict[object, int] = {}  # bytes of every request that is being answered
        self._cut: set[object] = set()        # those that make room, as soon as they send more

    def bounded(self, receive: Callable[[], Awaitable[dict]],
                most: int) -> tuple[Callable[[], Awaitable[dict]], Callable[[], None]]:
        """`receive` with the bounds, and what forgets the request again. `receive` raises Refused."""
        mine, whole = object(), False

        async def read() -> dict:
            nonlocal whole
            if whole:  # what comes now is that the other side has gone, and that may take its time
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), PATIENCE)
            except TimeoutError:
                raise Refused(408, say("refused.slow", n=PATIENCE)) from None
            whole = not message.get("more_body", False)
            self._add(mine, len(message.get("body", b"")), most)
            return message

        def forget() -> None:
            self._coming.pop(mine, None)
            self._cut.discard(mine)

        return read, forget

    def _add(self, mine: object, size: int, most: int) -> None:
        self._coming[mine] = self._coming.get(mine, 0) + size
        if self._coming[mine] > most:
            raise Refused(413, too_long(most))
        if sum(self._coming.values()) > TOGETHER:
            self._cut.add(max(self._coming, key=self._coming.get))
        if mine in self._cut:
            raise Refused(503, say("refused.much"))
