"""The machine that the page starts on: its addresses and ports, and proxies; and the app among them."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from core.errors import UserError
from treeviz.page import machine

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    """The environment as it was, whatever a test writes there."""
    before = dict(os.environ)
    for name in os.environ:
        if name.startswith("GRADIO_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    yield
    os.environ.clear()
    os.environ.update(before)


def taken_port(family=socket.AF_INET, host="127.0.0.1"):
    listening = socket.socket(family)
    listening.bind((host, 0))
    listening.listen()
    return listening, listening.getsockname()[1]


@pytest.mark.parametrize("host, address", [("::1", "[::1]"), ("[::1]", "[::1]"), ("::", "[::]"), ("127.0.0.1", "127.0.0.1"),
                                           ("localhost", "localhost"), ("[nobody]", "[nobody]"), ("0.0.0.0", "0.0.0.0")])
def test_an_address_is_the_same_with_and_without_brackets(host, address):
    assert machine.address_of(host) == address


def test_the_first_free_port_is_taken(monkeypatch):
    listening, port = taken_port()
    with listening:
        monkeypatch.setenv("GRADIO_SERVER_PORT", str(port))
        assert machine.free_port("127.0.0.1", None) > port
        monkeypatch.setenv("GRADIO_NUM_PORTS", "1")
        with pytest.raises(UserError, match=rf"^127\.0\.0\.1:{port} cannot be listened on"):
            machine.free_port("127.0.0.1", None)
        monkeypatch.setenv("GRADIO_NUM_PORTS", "3")
        with pytest.raises(UserError, match=rf"^nowhere\.invalid:{port}-{port + 2} cannot"):
            machine.free_port("nowhere.invalid", None)
        with pytest.raises(UserError, match=rf"^127\.0\.0\.1:{port} cannot be listened on"):
            machine.free_port("127.0.0.1", port)
    assert machine.free_port("127.0.0.1", port) == port


@pytest.mark.parametrize("name", ["GRADIO_SERVER_PORT", "GRADIO_NUM_PORTS"])
def test_numbers_of_the_environment_that_cannot_be(monkeypatch, name):
    for value in ("abc", "0", "-1", "65536", "7860.5", "²", "9" * 9999):
        monkeypatch.setenv(name, value)
        with pytest.raises(UserError, match=f"^{name} is '{value[:9]}.*; give a whole number from 1 to 65535, or unset it\\.$"):
            machine.free_port("localhost", None)
    monkeypatch.setenv(name, "")
    assert machine.free_port("127.0.0.1", None) >= 7860 and name not in os.environ


def test_the_last_ports_there_are(monkeypatch):
    monkeypatch.setenv("GRADIO_SERVER_PORT", "65535")
    with pytest.raises(UserError, match=r"192\.0\.2\.1:65535 cannot"):  # an address for examples, nobody's
        machine.free_port("192.0.2.1", None)


def test_this_machine_goes_through_no_proxy(monkeypatch):
    from urllib.request import proxy_bypass_environment
    for name, known in (("NO_PROXY", "example.org"), ("no_proxy", "example.org"), ("NO_PROXY", ""), ("no_proxy", "*")):
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.setenv(name, known)
        machine.local_is_direct("[fe80::1]")
        for host in ("localhost", "127.0.0.1", "::1", "fe80::1", *([known] if known else [])):
            assert proxy_bypass_environment(host) or known == "*", (known, host)
        assert bool(proxy_bypass_environment("huggingface.co")) == (known == "*")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with machine.no_proxies():
        httpx.Client().close()
        assert "ALL_PROXY" not in os.environ and "no_proxy" in os.environ
    assert os.environ["ALL_PROXY"] == "socks5://127.0.0.1:9"


# -- the app --


class Refusing(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(502)
        self.end_headers()

    do_HEAD = do_POST = do_CONNECT = do_GET

    def log_message(self, *_):
        self.server.asked.append(self.path)


@pytest.fixture
def proxy():
    server = HTTPServer(("127.0.0.1", 0), Refusing)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.timeout(200)
@pytest.mark.parametrize("host", ["localhost", "::1"])
def test_the_app_starts_behind_a_proxy_and_beside_somebody_elses_folder(proxy, tmp_path, host):
    """A proxy that answers 502 and one that httpx has no package for; `gradio` in the folder for temporary files is not ours."""
    try:
        listening, port = taken_port(*((socket.AF_INET6, "::1") if host == "::1" else (socket.AF_INET, "127.0.0.1")))
    except OSError:
        pytest.skip(f"this machine has no {host}")
    listening.close()
    (tmp_path / "gradio").write_text("somebody else's")
    refusing = f"http://127.0.0.1:{proxy.server_port}"
    env = os.environ | {"HTTP_PROXY": refusing, "http_proxy": refusing, "HTTPS_PROXY": refusing, "ALL_PROXY": "socks5://127.0.0.1:9",
                        "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    with open(tmp_path / "log", "w") as log:
        process = subprocess.Popen([sys.executable, "app.py", "--demo", "--host", host, "--port", str(port)], cwd=ROOT, env=env,
                                   stdout=log, stderr=log)
    address = f"http://{machine.address_of(host)}:{port}"
    try:
        while f"Running on local URL:  {address}\n" not in (tmp_path / "log").read_text():
            assert process.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.1)
        with httpx.Client(trust_env=False, timeout=60) as client:
            assert "TreeViz" in client.get(address).text
            said = client.post(f"{address}/gradio_api/upload", files={"files": ("run.json", b"{}")})
        (kept,) = said.json()
        assert Path(kept).read_bytes() == b"{}" and Path(kept).is_relative_to(tmp_path) and proxy.asked == []
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert {path.name for path in tmp_path.iterdir()} == {"gradio", "log"}, "its own folder is gone"
