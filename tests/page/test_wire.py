"""What the server hands out beside gradio: the lines of a run, to many and to those who do not read."""

import json
import re
import shutil
import socket
import time
from pathlib import Path

import pytest
from served import DEMO, served


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    with served(tmp_path_factory.mktemp("app"), *DEMO) as app:
        yield app
        assert "Traceback" not in app.log.read_text()


def memory(process):
    """MiB that the server holds."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1]) / 1024


def test_a_recorded_run_is_read_from_any_line(app):
    status, headers, whole = app.ask("/treeviz/runs/recorded/sky")
    assert status == 200 and headers["content-type"].startswith("application/x-ndjson")
    lines = whole.splitlines(keepends=True)
    assert json.loads(lines[0])["page"]["name"] == "sky" and "output" in json.loads(lines[-1])
    for start in ("1", "7", str(len(lines)), "999999999"):
        assert app.ask(f"/treeviz/runs/recorded/sky?from={start}")[2] == "".join(lines[int(start):])
    for odd in ("-1", "x", "1e3", "9" * 40, "%00", ""):
        assert app.ask(f"/treeviz/runs/recorded/sky?from={odd}")[2] == whole, "what is no number is the beginning"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_many_who_do_not_read_take_little_memory(app):
    app.ask("/treeviz/runs/recorded/lost")
    before, crowd = memory(app.process), []
    for _ in range(150):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.connect(("127.0.0.1", app.port))
        connection.sendall(f"GET /treeviz/runs/recorded/lost HTTP/1.1\r\nHost: localhost:{app.port}\r\n\r\n".encode())
        crowd.append(connection)
    for _ in range(30):
        assert app.ask("/treeviz/runs/recorded/lost?from=9999")[0] == 200
        time.sleep(0.1)
    grown = memory(app.process) - before
    for connection in crowd:
        connection.close()
    assert grown < 80, "each held the whole run"


def test_the_view_is_sent_again_only_when_it_has_changed(tmp_path, monkeypatch):
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

    from treeviz import view
    from treeviz.page.wire import pack_route
    shutil.copytree(view.ASSETS / "view", tmp_path / "view")
    shutil.copytree(view.ASSETS / "words", tmp_path / "words")
    monkeypatch.setattr(view, "ASSETS", tmp_path)
    client = TestClient(Starlette(routes=[pack_route()]))
    first = client.get("/treeviz/view.json")
    assert first.headers["cache-control"] == "no-cache" and "view.js" in first.json()["modules"]
    same = client.get("/treeviz/view.json", headers={"If-None-Match": first.headers["etag"]})
    weak = client.get("/treeviz/view.json", headers={"If-None-Match": f"W/{first.headers['etag']}"})
    assert (same.status_code, same.content, weak.status_code) == (304, b"", 304)
    (tmp_path / "view" / "tree.js").write_text("// another\n")
    again = client.get("/treeviz/view.json", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 200 and again.json()["modules"]["tree.js"] == "// another\n"
    assert again.headers["etag"] != first.headers["etag"]


def test_the_door_lets_the_view_through_and_no_other_file(app):
    status, headers, body = app.ask("/treeviz/view.json")
    assert status == 200 and headers["content-type"] == "application/json" and "shell.js" in json.loads(body)["modules"]
    for path in ("/treeviz/view", "/treeviz/view.json/x", "/treeviz/assets/view/view.js", "/treeviz/viewXjson"):
        assert app.ask(path)[0] == 404
