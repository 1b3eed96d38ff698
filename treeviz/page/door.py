"""Who may come in: a ring around the web server that turns away what did not come to this page on purpose.

A browser that runs a stranger's page can be made to send requests here: under a name of the stranger's that points to this
machine (DNS rebinding), across origins, or with this page in a frame. Neither a password nor a firewall keeps that out, so
the names, origins and frames that are let in are known beforehand (`Guests`). What gradio serves beside the page is shut.
Knows ASGI, and nothing of gradio but its paths.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from starlette.middleware import Middleware

from core.errors import UserError

from ..story.language import Said, preferred
from ..story.phrases import say
from .bodies import ASKED, LARGEST, Bodies, Refused, too_long
from .space import hosted

HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+?)\.?(?::(\d{1,5}))?", re.ASCII)
FRAME = re.compile(r"https?://[\w.*-]+(:\d{1,5})?|\*", re.ASCII)
SPACES = ("https://huggingface.co", "https://*.huggingface.co")  # who frames a Space
# All that the page, its API and gradio's clients ask for. Gradio has more: monitoring, a schema of everything, an editor,
# reloading, recording, fetching of files, the progress of uploads (of which it forgets none that was ever asked for).
OPEN = re.compile(r"/|/treeviz/(view\.json|runs/[^/]+/.+)|/(config|theme\.css|favicon\.ico|robots\.txt|manifest\.json)/?|/(assets|static|svelte)/.+"
                  r"|/gradio_api/(info|app_id|cancel|reset|upload|startup-events|theme\.css|login_check)/?"
                  r"|/gradio_api/queue/(join|data)|/gradio_api/heartbeat/[^/]+|/gradio_api/(run|call|call/v2)/[^/]+(/[^/]*)?")


@dataclass(frozen=True, slots=True)
class Guests:
    """The names under which the page is served, and the origins that may put it into a frame."""

    names: frozenset[str] = frozenset({"localhost"})
    public: frozenset[str] = frozenset()  # names that a proxy in front of us has: an origin of theirs is ours
    beyond: bool = False                  # listening to other machines too: any address is a name of this one
    anybody: bool = False                 # any name will do
    frames: tuple[str, ...] = ()

    def serves(self, host: str) -> bool:
        """Is a Host header one of ours? A name that points to an address is whoever's the name is; an address is itself."""
        found = HOST.fullmatch(host)
        if not found:
            return False
        name = found[1].lower()
        if self.anybody or name in self.names or any(name.endswith(end) for end in self.names if end.startswith(".")):
            return True
        try:
            address = ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return self.beyond or _loopback(address)

    def knows(self, origin: str, host: str) -> bool:
        """Is an Origin header this page's own, seen from the Host header? "null" is nobody's."""
        scheme, _, place = origin.partition("://")
        theirs, ours = HOST.fullmatch(place), HOST.fullmatch(host)
        if not theirs or not ours:
            return False
        usual = {"http": "80", "https": "443"}.get(scheme)
        if theirs[1].lower() in self.public:
            return True
        return (theirs[1].lower(), theirs[2] or usual) == (ours[1].lower(), ours[2] or usual)


def guests(address: str, hosts: Iterable[str] = (), frames: Iterable[str] = (), share: bool = False) -> Guests:
    """Who is let in where `address` is listened on; `hosts` and `frames` are let in too. A Space is open to everybody under
    any name. Raises UserError."""
    space = hosted()
    hosts, frames = _listed("TREEVIZ_ALLOW_HOST", hosts), _listed("TREEVIZ_ALLOW_FRAME", frames)
    for host in hosts:
        if host != "*" and not HOST.fullmatch(host):
            raise UserError(f'"{host}" is no host name; give --allow-host a name such as demo.example.org, or "*" for any.')
    for frame in frames:
        if not FRAME.fullmatch(frame):
            raise UserError(f'"{frame}" is no origin; give --allow-frame one such as https://example.org, or "*" for any.')
    root = HOST.fullmatch(re.sub(r"^https?://|/.*", "", os.environ.get("GRADIO_ROOT_PATH", "")))  # where a proxy shows us
    public = {HOST.fullmatch(host)[1].lower() for host in hosts if host != "*"}
    public |= {name.lower() for name in (os.environ.get("SPACE_HOST"), root and root[1]) if name}
    beyond = not listens_here(address)
    names = {"localhost", address.lower(), *public, *(_names_of_this_machine() if beyond else ())}
    if share:
        names.add(".gradio.live")
    return Guests(frozenset(names), frozenset(public), beyond, space or "*" in hosts, (*(SPACES if space else ()), *frames))


def listens_here(address: str) -> bool:
    """Does an address hear this machine only?"""
    bare = address.strip("[]")
    if bare == "localhost":
        return True
    try:
        return _loopback(ipaddress.ip_address(bare))
    except ValueError:
        found = socket.getaddrinfo(bare, None)
        return all(_loopback(ipaddress.ip_address(place[0].partition("%")[0])) for *_, place in found)


def _loopback(address) -> bool:
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _names_of_this_machine() -> list[str]:
    whole = socket.gethostname().lower()
    first = whole.partition(".")[0]
    return [whole, first, f"{first}.local"]


def _listed(variable: str, given: Iterable[str]) -> list[str]:
    return [*given, *filter(None, re.split(r"[,\s]+", os.environ.get(variable, "")))]


def behind_door(settings: dict, guests: Guests, sweep: Callable[[], object]) -> dict:
    """What to launch gradio with, so that its web server has this door before everything else, and shows no schema.
    `sweep` keeps the uploads few."""
    server = settings["app_kwargs"]
    door = Middleware(Door, guests=guests, sweep=sweep)
    return settings | {"app_kwargs": server | {"middleware": [door, *server["middleware"]], "openapi_url": None}}


class Door:
    """An ASGI application around another: lets in whom `guests` knows, to what is OPEN, and says who may frame it."""

    def __init__(self, app, guests: Guests, sweep: Callable[[], object] = lambda: None):
        self.app, self.guests, self.sweep, self.bodies, self.told = app, guests, sweep, Bodies(), False
        sources = " ".join(("'self'", *guests.frames))
        self.headers = [(b"content-security-policy", f"frame-ancestors {sources}".encode())]
        if not guests.frames:
            self.headers.append((b"x-frame-options", b"SAMEORIGIN"))  # browsers that do not read the line above

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":  # nothing here speaks WebSocket
            return await send({"type": "websocket.close", "code": 1008})
        started = False

        async def answer(message):
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", []), *self.headers]
            await send(message)

        refused = self.refusal(scope)
        if refused:
            return await _answer(answer, scope, *refused)
        read, forget = self.bodies.bounded(receive, _most(scope))
        try:
            await self._let_in(scope, read, answer)
        except Exception as error:
            if started or scope["method"] != "POST":
                raise
            status = error.status if isinstance(error, Refused) else 400  # else one that gradio cannot read
            await _answer(answer, scope, status, error.said if status != 400 else
                          say("refused.unreadable", error=f"{type(error).__name__}: {str(error)[:200]}"))
        finally:
            forget()

    async def _let_in(self, scope, receive, send):
        if not _uploads(scope) or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        await asyncio.to_thread(self.sweep)
        try:
            await self.app(scope | {"query_string": b""}, receive, send)  # without a name for its progress, which would stay
        finally:
            await asyncio.to_thread(self.sweep)

    def refusal(self, scope) -> tuple[int, Said] | None:
        """The status and the sentence for whoever is not let in."""
        sent = {}
        for name, value in scope["headers"]:
            sent.setdefault(name, []).append(value.decode("latin-1"))
        host, origin = sent.get(b"host", []), sent.get(b"origin", [])
        if len(host) != 1 or not self.guests.serves(host[0]):
            shown = HOST.fullmatch(host[0]) if host else None
            name = shown[1][:100] if shown else "NAME"
            return 403, say("refused.name", name=name)
        if any(not self.guests.knows(place, host[0]) for place in origin):
            self._tell(origin[0])
            return 403, say("refused.other")
        site, mode = (sent.get(name, ["none"])[0] for name in (b"sec-fetch-site", b"sec-fetch-mode"))
        if site in ("cross-site", "same-site") and not origin and mode != "navigate":
            return 403, say("refused.other")
        if not OPEN.fullmatch(scope["path"]):
            return 404, say("refused.nothing")
        length = sent.get(b"content-length", ["0"])[0]
        if length.isdecimal() and int(length) > _most(scope):
            return 413, too_long(_most(scope))
        return None

    def _tell(self, origin: str) -> None:
        """Once, for whoever put a proxy in front of the page: there, only the browser would know why nothing works."""
        found = HOST.fullmatch(origin.partition("://")[2])
        if found and not self.told:
            self.told = True
            print(f"Requests of a page at {found[1][:100]} are refused; if it is this one behind a proxy, start it with "
                  f"--allow-host {found[1][:100]}.", file=sys.stderr, flush=True)


def _uploads(scope) -> bool:
    return scope["path"].rstrip("/") == "/gradio_api/upload"


def _most(scope) -> int:
    """Bytes that a request may bring."""
    return LARGEST if _uploads(scope) else ASKED


async def _answer(send, scope, status: int, said: Said) -> None:
    """`said` in the language that the browser asks for."""
    sentence = said[preferred(dict(scope["headers"]).get(b"accept-language", b"").decode("latin-1"))]
    body = json.dumps({"error": sentence}).encode() if status == 400 else sentence.encode()
    kind = b"application/json" if status == 400 else b"text/plain; charset=utf-8"
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-type", kind), (b"content-length", str(len(body)).encode()), (b"x-content-type-options", b"nosniff")]})
    await send({"type": "http.response.body", "body": body})
