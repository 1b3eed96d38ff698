"""What the server does beside gradio: it knows who listens, and hands out the view and the lines of a run as
they come.

Gradio keeps the last value of every output, for every session; so the page's value is only the name of a run, and the
browser reads the run itself from here. Knows connections and runs; no pages, no models.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ..story.language import preferred
from ..story.phrases import phrase
from ..view import PACK, pack
from .inbox import NAME
from .runs import Run

LOOK = 0.2         # seconds between two looks for new lines
REMEMBERED = 60    # seconds for which a session that nobody listens to is remembered
STREAMS = re.compile(r"/gradio_api/(?:queue/data$|call/(?:v2/)?[^/]+/(?P<event>[^/]+)$)")


class Listeners:
    """Counts, for each session, the streams of events that are open: the middleware around the whole app.

    A stream is named by its session or, asked for by curl, by its event, which gradio then takes for the session's name.
    """

    def __init__(self):
        self._open: dict[str, int] = {}
        self._left: dict[str, float] = {}
        self._lock = threading.Lock()

    def silence(self, session: str) -> float | None:
        """Seconds since the last listener of a session left: 0 while one is there, None where none has come."""
        with self._lock:
            if self._open.get(session):
                return 0.0
            left = self._left.get(session)
            return None if left is None else time.monotonic() - left

    def around(self, app):
        """The app, its streams watched."""

        async def watched(scope, receive, send):
            name = self._stream(scope)
            if name is None:
                await app(scope, receive, send)
                return
            if len(name) > NAME:  # nobody's, and too long to be remembered
                await JSONResponse({"error": phrase("refused.stranger")}, 404)(scope, receive, send)
                return
            self._come(name)
            try:
                await app(scope, receive, send)
            except RuntimeError as error:
                if not isinstance(error.__cause__, HTTPException):
                    raise
                # the stream has said already that there is no such session: no fault of ours, for the log
                await send({"type": "http.response.body", "body": b""})
            finally:
                self._go(name)

        return watched

    @staticmethod
    def _stream(scope) -> str | None:
        if scope["type"] != "http" or scope["method"] != "GET" or not (found := STREAMS.search(scope["path"])):
            return None
        return found["event"] or parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [None])[0]

    def _come(self, name: str) -> None:
        with self._lock:
            self._open[name] = self._open.get(name, 0) + 1

    def _go(self, name: str) -> None:
        with self._lock:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]
            self._left.pop(name, None)
            self._left[name] = time.monotonic()  # the newest is last
            for old in list(self._left):
                if self._left[old] > time.monotonic() - REMEMBERED:
                    break
                del self._left[old]


def lines_route(find: Callable[[str, str], Run | None]) -> Route:
    """`GET /treeviz/runs/{shelf}/{name}?from=N`: the page lines of a run from the N-th on, and what comes, until it ends.

    find(shelf, name) gives the run, or None. The header `Treeviz-Run` says how it is to be
    shown: "here", when all of it has come, at the place that a link names; "comes", from its beginning, for it takes a
    while; "grows", as it is decoded.
    """

    async def answer(request: Request) -> Response:
        start = request.query_params.get("from", "0")
        start = int(start) if re.fullmatch(r"\d{1,9}", start) else 0
        run = await asyncio.to_thread(find, request.path_params["shelf"], request.path_params["name"])
        if run is None:
            language = preferred(request.headers.get("accept-language", ""))
            return JSONResponse({"error": phrase("refused.gone", language)}, 404)
        how = "here" if run.done else "comes" if run.whole else "grows"
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Treeviz-Run": how}
        return StreamingResponse(_growing(run, start), media_type="application/x-ndjson", headers=headers)

    return Route("/treeviz/runs/{shelf}/{name:path}", answer)


def pack_route() -> Route:
    """`GET /treeviz/view.json`: the view, as its files are now. The browser asks at each load of the page; most answers are that
    nothing has changed."""

    def answer(request: Request) -> Response:
        body = json.dumps(pack(), ensure_ascii=False, separators=(",", ":")).encode()
        headers = {"ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"', "Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
        if request.headers.get("If-None-Match", "").removeprefix("W/") == headers["ETag"]:
            return Response(None, 304, headers)
        return Response(body, media_type="application/json", headers=headers)

    return Route(f"/{PACK}", answer)


async def _growing(run: Run, start: int) -> AsyncIterator[str]:
    """A run's lines as they come. Being cancelled is how it ends where the reader went away."""
    while True:
        done = run.done  # asked first: what came before it was done is told below
        for line in run.lines(start):
            start += 1
            yield line
        if done:
            return
        await asyncio.sleep(LOOK)
