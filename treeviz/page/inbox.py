"""What gradio keeps for whoever asked and never came for the answer: with bounds, for it has none of its own.

Knows gradio's queue; nothing of the page.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ..story.language import preferred
from ..story.phrases import phrase
from .space import visitor

NAME = 64         # characters of a session's name; gradio's own have 11
PER_ADDRESS = 32  # events that one network address may have in the queue, or answered and not fetched
UNFETCHED = 60    # seconds that an answer waits for somebody to fetch it


class Inbox:
    """Stands before `push` of gradio's queue, where everything that is kept comes in. `silence` says for how many seconds
    nobody has listened to a session."""

    def __init__(self, queue, silence: Callable[[str], float | None]):
        self._queue, self._silence, self._push = queue, silence, queue.push
        self._events: dict[str, tuple[str, str, float]] = {}  # of each event its session, its address and when it came
        queue.push = self.push

    async def push(self, body, request, username):
        """As gradio's: (success, the event's id or a sentence, a word for what happened)."""
        language = preferred(request.headers.get("accept-language", ""))
        if len(body.session_hash or "") > NAME:
            return False, phrase("refused.session", language, n=NAME), "error"
        self._tidy()
        address = visitor(request)
        if sum(place == address for _, place, _ in self._events.values()) >= PER_ADDRESS:
            return False, phrase("refused.asked", language), "queue_full"
        success, event, state = await self._push(body, request, username)
        if success:
            self._events[event] = body.session_hash, address, time.monotonic()
        return success, event, state

    def _tidy(self) -> None:
        """Forget what was fetched, and what nobody has come for; of a session without events, gradio forgets all."""
        for event, (session, _, came) in list(self._events.items()):
            pending = self._queue.pending_event_ids_session.get(session, set())
            if event in pending and event not in self._queue.event_ids_to_events and time.monotonic() - came > UNFETCHED:
                silent = self._silence(session)
                if silent is None or silent > UNFETCHED:
                    pending.discard(event)
            if event not in pending:
                del self._events[event]
                if not pending and self._silence(session) != 0:
                    self._queue.pending_event_ids_session.pop(session, None)
                    self._queue.pending_messages_per_session.pop(session, None)
