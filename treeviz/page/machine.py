"""What the page needs of the machine it starts on: an address, a port, and no proxy between it and itself. Looked at before
gradio is imported, which reads the environment then and would not say what is wrong with it."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket

from core.errors import UserError

LOCAL = ("localhost", "127.0.0.1", "::1")


def address_of(host: str) -> str:
    """The host as the name of an address: ::1 and [::1] are the same, and stand in brackets in a URL."""
    bare = host.removeprefix("[").removesuffix("]")
    try:
        return f"[{bare}]" if ipaddress.ip_address(bare).version == 6 else bare
    except ValueError:
        return host


def free_port(address: str, port: int | None) -> int:
    """The port, or the first free one of those to be tried. Raises UserError where there is none."""
    first, count = _whole("GRADIO_SERVER_PORT", 7860), _whole("GRADIO_NUM_PORTS", 100)
    ports = range(first, min(first + count, 65536)) if port is None else range(port, port + 1)
    if ":" in os.environ.get("GRADIO_SERVER_NAME", ""):  # gradio looks for a free port there, in the old kind of address
        del os.environ["GRADIO_SERVER_NAME"]
    with contextlib.suppress(OSError, UnicodeError):  # a name that nobody knows, an address of another machine
        for number in ports:
            if _free(address.strip("[]"), number):
                return number
    tried = f"{ports[0]}-{ports[-1]}" if len(ports) > 1 else ports[0]
    raise UserError(taken(address, tried))


def taken(address: str, port: int | str) -> str:
    return f"{address}:{port} cannot be listened on, it may be taken; give another --port or --host."


def _whole(name: str, usual: int) -> int:
    text = os.environ.get(name, "")
    if not text:
        os.environ.pop(name, None)  # gradio would take an empty one for a number
        return usual
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) < 65536):
        raise UserError(f"{name} is {text!r:.40}; give a whole number from 1 to 65535, or unset it.")
    return int(text)


def _free(host: str, port: int) -> bool:
    """May every address of the host be listened on at this port? Raises OSError where none of them is this machine's."""
    places, failures = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE), []
    for family, kind, protocol, _, place in places:
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                probe.bind(place)
            except OSError as error:
                if error.errno in (errno.EADDRINUSE, errno.EACCES):
                    return False
                failures.append(error)
    if len(failures) == len(places):
        raise failures[0]
    return True


def local_is_direct(address: str) -> None:
    """What this machine says to itself goes through no proxy."""
    known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY", "")
    if known.strip() != "*":
        ours = [name for name in (*LOCAL, address.strip("[]")) if name not in known.split(",")]
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join([*([known] if known else []), *dict.fromkeys(ours)])


@contextlib.contextmanager
def no_proxies():
    """No proxies while the page starts: gradio asks its own server then, and proxies of a kind that httpx has no package for
    are an error even where they would not be asked."""
    names = [name for name in os.environ if name.lower().endswith("_proxy") and name.lower() != "no_proxy"]
    before = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(before)
