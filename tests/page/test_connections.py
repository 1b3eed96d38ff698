"""How many connections there may be and how long they may say nothing, on a real server with a small application."""

import asyncio
import contextlib
import http.client
import socket
import subprocess
import sys
import threading
import time

import pytest
from served import ROOT

from treeviz.page import connections as module

uvicorn = pytest.importorskip("uvicorn")
ASKED = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def application(scope, receive, send):
    """Answers after a moment, `/slow` after a second."""
    await asyncio.sleep(1 if scope["path"] == "/slow" else 0)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture(params=["h11", "httptools"])
def port(request, monkeypatch):
    """A server for ten connections, that waits for a third of a second."""
    pytest.importorskip(request.param)
    monkeypatch.setattr(module, "MOST", 10)
    monkeypatch.setattr(module, "SILENT", 0.3)
    server = uvicorn.Server(uvicorn.Config(application, "127.0.0.1", 0, http=request.param, lifespan="off", log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    module.bound_connections(server)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join(10)


def connect(port, home="127.0.0.1", sent=b""):
    connection = socket.create_connection(("127.0.0.1", port), timeout=5, source_address=(home, 0))
    connection.sendall(sent)
    return connection


def closed(connection, seconds=5):
    """Does the other side close it, whatever it still says before?"""
    connection.settimeout(seconds)
    with contextlib.suppress(ConnectionError):
        try:
            while connection.recv(1000):
                pass
        except TimeoutError:
            return False
    return True


def test_who_asks_for_nothing_is_let_go(port):
    with connect(port) as mute, connect(port, sent=b"GET / HT") as half, connect(port, sent=ASKED) as second:
        slow = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        slow.request("GET", "/slow")
        assert second.recv(1000).startswith(b"HTTP/1.1 200")
        second.sendall(b"GET / HTTP/1.1\r\nHost: loc")  # a second request that is never whole
        assert closed(mute) and closed(half) and closed(second)
        assert slow.getresponse().read() == b"ok", "an answer may take its time"
        slow.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has other addresses of its own")
@pytest.mark.parametrize("sent", [b"", ASKED.replace(b"/ ", b"/slow ")], ids=["mute", "asking"])
def test_of_too_many_whoever_has_the_most_gives(port, sent):
    with contextlib.ExitStack() as stack:
        honest = [stack.enter_context(connect(port, sent=ASKED.replace(b"/ ", b"/slow "))) for _ in range(3)]
        flood = [stack.enter_context(connect(port, "127.0.0.2", sent)) for _ in range(30)]
        for one in honest:
            assert one.recv(1000).startswith(b"HTTP/1.1 200")
        assert sum(closed(one, 0.05) for one in flood) >= 20


def test_the_program_takes_the_files_that_the_machine_gives():
    pytest.importorskip("resource")
    told = "from treeviz.page.connections import room; import resource; print(room(), *resource.getrlimit(resource.RLIMIT_NOFILE))"
    for soft, hard, said in ((256, 1000, "500 1000 1000"), (200, 200, "100 200 200")):
        command = f'ulimit -Sn {soft}; ulimit -Hn {hard}; exec "$@"' if soft < hard else f'ulimit -n {hard}; exec "$@"'
        answer = subprocess.run(["bash", "-c", command, "-", sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True)
        assert answer.stdout.strip() == said, answer.stderr
