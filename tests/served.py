"""The program itself, listening on a free port of this machine, and a client that sends what it likes."""

import asyncio
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEMO = ("--demo",)
STORYBOOK = ("--pair", "storybook", "--device", "cpu")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Served:
    """`ask` sends one request over a connection of its own."""

    def __init__(self, port, process, log):
        self.port, self.process, self.log = port, process, log

    def ask(self, path, body=None, method=None, host="", **headers):
        """(status, headers, text). `host` is the Host header, of this port where it names none; "_" in names is "-"."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.putrequest(method or ("GET" if body is None else "POST"), path, skip_host=True)
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            if data is not None:
                headers = {"Content_Type": "application/json", "Content_Length": str(len(data))} | headers
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders(data)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()

    def call(self, path, body):
        """Ask a named endpoint. Returns its error, or what it returned."""
        status, _, text = self.ask(f"/gradio_api/call/{path}", body)
        if status != 200:
            return json.loads(text)
        _, _, text = self.ask(f"/gradio_api/call/{path}/{json.loads(text)['event_id']}")
        return json.loads(text.rstrip().rpartition("data: ")[2])

    def listen(self, listener, data, event=None):
        """Ask a listener of the page, in the queue. Returns its last message."""
        session = uuid.uuid4().hex
        body = {"data": data, "fn_index": listener, "session_hash": session, "trigger_id": None, "event_data": event}
        status, _, text = self.ask("/gradio_api/queue/join", body)
        assert status == 200, text
        _, _, text = self.ask(f"/gradio_api/queue/data?session_hash={session}")
        return next(said for said in (json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: "))
                    if said["msg"] in ("process_completed", "unexpected_error"))


def run(work):
    """`asyncio.run`, also where the browser tests have left a loop running."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, work).result()


def start(folder, flags, env):
    port = free_port()
    log = folder / "app.log"
    env = os.environ | {"OMP_NUM_THREADS": "1", "TMPDIR": str(folder)} | (env or {})
    with open(log, "w") as out:
        process = subprocess.Popen([sys.executable, "app.py", "--port", str(port), *flags], cwd=ROOT, env=env, stdout=out, stderr=out)
    return Served(port, process, log)


def answers(app):
    """Waits until it does; False where somebody took its port meanwhile."""
    for _ in range(400):
        if app.process.poll() is not None:
            assert "cannot be listened on" in app.log.read_text(), app.log.read_text()
            return False
        with contextlib.suppress(OSError):
            if app.ask("/", host=f"localhost:{app.port}")[0] == 200:
                return True
        time.sleep(0.2)
    raise AssertionError("the app does not answer: " + app.log.read_text())


@contextlib.contextmanager
def served(folder, *flags, env=None):
    """`python app.py *flags` until the end of the block, its temporary files in `folder`."""
    for _ in range(3):
        app = start(folder, flags, env)
        try:
            if answers(app):
                yield app
                return
        finally:
            app.process.terminate()
            app.process.wait(30)
    raise AssertionError("no port of three stayed free")
