"""Who may come in: names, origins, frames, and what is shut. The table first, then strangers on the running program."""

import asyncio
import json
import socket

import pytest
from served import DEMO, STORYBOOK, run, served
from test_space import FAKE_SPACES

from core.errors import UserError
from treeviz.page import bodies, door
from treeviz.page.door import Door, Guests, guests, listens_here

ROOT_VARIABLES = ("SPACE_ID", "SPACE_HOST", "GRADIO_ROOT_PATH", "TREEVIZ_ALLOW_HOST", "TREEVIZ_ALLOW_FRAME")


@pytest.fixture(autouse=True)
def no_platform(monkeypatch):
    for name in ROOT_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(socket, "gethostname", lambda: "Desk.corp.example")


# -- names ------------------------------------------------------------------------------------------------------------

HERE = ["localhost", "localhost:7860", "LOCALHOST.:80", "127.0.0.1:9000", "127.1.2.3", "[::1]:7860", "[::ffff:127.0.0.1]"]
NEIGHBOURS = ["192.168.1.5:7860", "0.0.0.0:7860", "[fe80::1]", "[2001:db8::1]:7860"]
MACHINE = ["desk", "desk.local:7860", "desk.corp.example"]
STRANGERS = ["evil.example", "evil.example:7860", "localhost.evil.example", "127.0.0.1.evil.example", "evil.localhost",
             "", "localhost@evil.example", "localhost evil.example", "[::1", "::1", "localhost:port", "http://localhost", "*"]


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1", "::1", "[::1]", "127.0.0.2"])
def test_who_listens_here_only_is_served_under_names_of_here(address):
    who = guests(address)
    assert listens_here(address) and [host for host in HERE if not who.serves(host)] == []
    assert [host for host in NEIGHBOURS + MACHINE + STRANGERS if who.serves(host)] == []


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.5"])
def test_who_listens_to_others_is_served_under_any_address_and_the_machine_s_names(address):
    who = guests(address)
    assert not listens_here(address) and [host for host in HERE + NEIGHBOURS + MACHINE if not who.serves(host)] == []
    assert [host for host in STRANGERS if who.serves(host)] == [], "a name points to where its owner says"


def test_a_name_that_is_asked_for_is_served(monkeypatch):
    assert guests("localhost", ["Demo.example.org"]).serves("demo.EXAMPLE.org:443")
    assert not guests("localhost", ["demo.example.org"]).serves("x.demo.example.org")
    assert guests("localhost", ["*"]).serves("evil.example") and not guests("localhost", ["*"]).serves("")
    monkeypatch.setenv("TREEVIZ_ALLOW_HOST", "a.example, b.example")
    assert guests("localhost").serves("b.example") and guests("localhost").serves("a.example:1")
    monkeypatch.setenv("GRADIO_ROOT_PATH", "https://demo.example.org/trees")
    assert guests("localhost").serves("demo.example.org")


def test_a_share_link_is_served():
    assert guests("localhost", share=True).serves("0123abcd.gradio.live")
    assert not guests("localhost", share=True).serves("gradio.live.evil.example")
    assert not guests("localhost").serves("0123abcd.gradio.live")


@pytest.mark.parametrize("hosts, frames, said", [(["a b"], [], '"a b" is no host name'), (["http://x"], [], "no host name"),
                                                 ([], ["example.org"], '"example.org" is no origin'), ([], ["https://a;b"], "no origin")])
def test_what_cannot_be_let_in_is_a_sentence(hosts, frames, said):
    with pytest.raises(UserError, match=said):
        guests("localhost", hosts, frames)


# -- origins ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin, host, own", [
    ("http://localhost:7860", "localhost:7860", True), ("http://LOCALHOST", "localhost:80", True), ("https://a.example", "a.example", True),
    ("http://[::1]:7860", "[::1]:7860", True), ("https://a.example", "a.example:443", True), ("null", "localhost", False),
    ("http://localhost:3000", "localhost:7860", False), ("http://127.0.0.1:7860", "localhost:7860", False), ("", "localhost", False),
    ("http://evil.example", "localhost:7860", False), ("http://localhost.evil.example:7860", "localhost:7860", False),
    ("http://evil.example:7860", "localhost:7860", False), ("https://demo.example.org", "127.0.0.1:7860", True)])
def test_an_origin_is_ours_where_it_is_the_name_that_was_asked_or_the_proxy_s(origin, host, own):
    assert guests("localhost", ["demo.example.org"]).knows(origin, host) is own


def through(who, path="/", receive=None, **headers):
    """What a Door before an empty application answers: (status, headers)."""
    sent = []

    async def app(scope, read, send):
        while (await read()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def empty():
        return {"type": "http.request", "body": b""}

    async def send(message):
        sent.append(message)

    headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers}
    run(Door(app, who)(scope, receive or empty, send))
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


@pytest.mark.parametrize("headers, status", [
    (dict(sec_fetch_site="same-origin"), 200), (dict(sec_fetch_site="none"), 200), (dict(sec_fetch_site="cross-site"), 403),
    (dict(sec_fetch_site="same-site", sec_fetch_mode="no-cors"), 403),  # another port of this machine
    (dict(sec_fetch_site="cross-site", sec_fetch_mode="navigate"), 200)])  # a link to the page
def test_what_a_browser_says_of_a_stranger_s_page_is_heard(headers, status):
    assert through(Guests(), "/config", **headers)[0] == status


# -- frames -----------------------------------------------------------------------------------------------------------


def test_only_whoever_was_asked_for_may_frame_the_page(monkeypatch):
    _, headers = through(guests("localhost"))
    assert headers["content-security-policy"] == "frame-ancestors 'self'" and headers["x-frame-options"] == "SAMEORIGIN"
    _, headers = through(guests("localhost", frames=["https://course.example"]))
    assert headers["content-security-policy"] == "frame-ancestors 'self' https://course.example" and "x-frame-options" not in headers
    monkeypatch.setenv("SPACE_ID", "somebody/treeviz")
    monkeypatch.setenv("TREEVIZ_ALLOW_FRAME", "https://course.example")
    _, headers = through(guests("0.0.0.0"), host="anything.example")
    assert headers["content-security-policy"].split()[1:] == ["'self'", "https://huggingface.co", "https://*.huggingface.co",
                                                             "https://course.example"]


# -- how much may be sent ---------------------------------------------------------------------------------------------


def sending(*sizes, pause=0.0):
    """A `receive` that brings bodies of these sizes, a moment apart."""
    left = list(sizes)

    async def receive():
        await asyncio.sleep(pause)
        return {"type": "http.request", "body": b"x" * left.pop(0), "more_body": bool(left)}
    return receive


def test_a_body_has_bounds(monkeypatch):
    monkeypatch.setattr(door, "LARGEST", 100)
    monkeypatch.setattr(door, "ASKED", 10)
    monkeypatch.setattr(bodies, "PATIENCE", 0.05)
    assert through(Guests(), "/gradio_api/upload", sending(50, 50))[0] == 200
    assert through(Guests(), "/gradio_api/upload", sending(50, 51))[0] == 413
    assert through(Guests(), "/gradio_api/queue/join", sending(1, 1, pause=1))[0] == 408
    assert through(Guests(), "/gradio_api/queue/join", sending(5, 5))[0] == 200
    assert through(Guests(), "/gradio_api/queue/join", sending(5, 6))[0] == 413
    assert through(Guests(), "/gradio_api/queue/join", content_length="11")[0] == 413
    assert through(Guests(), "/gradio_api/upload", content_length="101")[0] == 413


def test_of_a_flood_whoever_sent_the_most_makes_room(monkeypatch):
    monkeypatch.setattr(bodies, "TOGETHER", 100)
    together, ended = bodies.Bodies(), []

    async def send(name, *sizes):
        read, forget = together.bounded(sending(*sizes, pause=0.01), 100)
        try:
            while (await read())["more_body"]:
                pass
            await asyncio.sleep(0.2)
        except bodies.Refused as error:
            ended.append((name, error.status))
        finally:
            forget()

    async def all_at_once():
        await asyncio.gather(send("flood", 45, 45, 5, 5), send("honest", 10, 10, 10))

    run(all_at_once())
    assert ended == [("flood", 503)] and not together._coming and not together._cut


# -- the running program ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    with served(tmp_path_factory.mktemp("app"), *DEMO) as app:
        yield app
        assert "Traceback" not in app.log.read_text()


PATHS = ["/", "/config", "/gradio_api/info", "/gradio_api/queue/data?session_hash=a", "/assets/x.js", "/gradio_api/heartbeat/a", "/no"]


@pytest.mark.parametrize("path", PATHS)
def test_a_foreign_name_gets_a_sentence_and_nothing_else(app, path):
    for host in ("evil.example", f"evil.example:{app.port}"):
        status, _, text = app.ask(path, host=host)
        assert (status, text) == (403, "This page is not served under the name evil.example; if it is yours, start it with "
                                       "--allow-host evil.example.")
    for path in ("/gradio_api/upload", "/gradio_api/queue/join"):
        assert app.ask(path, b"{}", host="evil.example", Origin="http://evil.example")[0] == 403


def test_what_is_refused_is_said_in_the_language_of_the_browser(app):
    for asked, said in (("zh-CN,zh;q=0.9", "这里什么也没有。"), ("xx, zh", "这里什么也没有。"), ("en,zh", "There is nothing here."),
                        ("*", "There is nothing here."), ("", "There is nothing here.")):
        assert app.ask("/monitoring", Accept_Language=asked)[::2] == (404, said)
    body = {"data": [], "fn_index": 999, "session_hash": "a"}
    status, _, text = app.ask("/gradio_api/queue/join", body, Accept_Language="zh")
    assert status == 400 and json.loads(text)["error"].startswith("无法使用这个请求（")


def test_names_of_this_machine_are_served(app):
    for host in (f"localhost:{app.port}", f"127.0.0.1:{app.port}", f"[::1]:{app.port}", "localhost:1"):
        assert app.ask("/config", host=host)[0] == 200


FILE = (b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.json"\r\n\r\n{}\r\n--b--\r\n',
        {"Content_Type": "multipart/form-data; boundary=b"})


def test_posts_of_other_origins_are_refused(app):
    own, join = f"http://127.0.0.1:{app.port}", {"data": [], "fn_index": 0, "session_hash": "a"}
    for origin in ("http://evil.example", f"http://localhost:{app.port}", "http://127.0.0.1:1", "null", "https://evil.example"):
        assert app.ask("/gradio_api/upload", FILE[0], Origin=origin, **FILE[1])[0] == 403
        assert app.ask("/gradio_api/queue/join", join, Origin=origin)[0] == 403
        assert app.ask("/gradio_api/queue/join", join, Origin=origin, Content_Type="text/plain")[0] == 403
        assert "access-control-allow-origin" not in app.ask("/gradio_api/queue/join", method="OPTIONS", Origin=origin,
                                                            Access_Control_Request_Method="POST")[1] or origin.startswith(
            ("http://localhost", "http://127"))
    assert app.ask("/gradio_api/upload", FILE[0], Origin=own, **FILE[1])[0] == 200
    assert app.ask("/gradio_api/upload", FILE[0], **FILE[1])[0] == 200, "a program has no origin"
    assert app.log.read_text().count("--allow-host evil.example") == 1


@pytest.mark.parametrize("path", [
    "/monitoring", "/monitoring/summary", "/monitoring/x", "/openapi.json", "/gradio_api/openapi.json", "/docs", "/redoc", "/login",
    "/gradio_api/dev/reload", "/gradio_api/vibe-code", "/gradio_api/vibe-edit", "/gradio_api/runs", "/gradio_api/file=/etc/passwd",
    "/gradio_api/file=http://example.org/", "/gradio_api/file//etc/passwd", "/gradio_api/proxy=http://example.org/",
    "/gradio_api/deep_link?session_hash=a", "/gradio_api/process_recording", "/gradio_api/component_server", "/gradio_api/token",
    "/gradio_api/queue/status", "/gradio_api/mcp/", "/gradio_api/profiling/summary", "/gradio_api/custom_component/a/client/b/c.js"])
def test_what_the_page_does_not_need_is_shut(app, path):
    assert app.ask(path)[0] == app.ask(path, {})[0] == 404


def test_what_is_no_upload_is_short(app):
    """A request is read as JSON: 60 MiB of empty lists were 4 GiB, and everybody else waited for a minute."""
    body = b'{"data": [' + b"[]," * 100_000 + b'[]], "fn_index": 0, "session_hash": "a"}'
    assert app.ask("/gradio_api/queue/join", body)[::2] == (413, "This is longer than 256 KiB; send less.")
    assert app.ask("/gradio_api/call/decode", body)[0] == app.ask("/gradio_api/cancel", body)[0] == 413


def test_the_progress_of_an_upload_is_not_kept(app):
    """Gradio forgets none that was ever named."""
    assert app.ask("/gradio_api/upload_progress?upload_id=x")[0] == 404
    scope, heard = {"type": "http", "method": "POST", "path": "/gradio_api/upload", "query_string": b"upload_id=x",
                    "headers": [(b"host", b"localhost")]}, []

    async def inside(scope, *_):
        heard.append(scope["query_string"])

    run(Door(inside, Guests())(scope, None, None))
    assert heard == [b""]


def test_a_websocket_is_refused(app):
    status, *_ = app.ask("/gradio_api/queue/join", Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Version="13",
                         Sec_WebSocket_Key="AAAAAAAAAAAAAAAAAAAAAA==")
    assert status >= 400


def test_an_unreadable_request_is_a_sentence(app):
    for path, body in (("call/v2/decode", {"promt": "a"}), ("call/nothing", {"data": []}), ("run/nothing", {"data": []}),
                       ("queue/join", {"data": [], "fn_index": 999, "session_hash": "a"})):
        status, _, text = app.ask(f"/gradio_api/{path}", body)
        assert status == 400 and text.startswith('{"error": "This request cannot be used ('), (path, status, text)


def test_the_frame_headers_are_on_the_page(app):
    _, headers, _ = app.ask("/")
    assert headers["content-security-policy"] == "frame-ancestors 'self'" and headers["x-frame-options"] == "SAMEORIGIN"


def test_listening_to_other_machines_is_said(tmp_path):
    with served(tmp_path, *DEMO, "--host", "0.0.0.0", "--allow-host", "demo.example.org") as app:
        told = app.log.read_text().splitlines()
        assert told.count("Whoever reaches this machine can use this page: there is no password.") == 1
        for host, status in (("192.0.2.1:7860", 200), ("demo.example.org", 200), ("evil.example", 403)):
            assert app.ask("/config", host=host)[0] == status
        assert app.ask("/gradio_api/upload", FILE[0], Origin="https://demo.example.org", **FILE[1])[0] == 200, "a proxy's own name"


@pytest.mark.parametrize("zero", [False, True])
def test_a_space_starts_and_decodes_under_its_own_name(tmp_path, zero):
    if zero:
        (tmp_path / "spaces.py").write_text(FAKE_SPACES + "\n\ndef gradio_auto_wrap(listener):\n    return listener\n")
    env = {"SPACE_ID": "somebody/treeviz", "SPACE_HOST": "somebody-treeviz.hf.space", "SYSTEM": "spaces", "PYTHONPATH": str(tmp_path),
           "SPACES_ZERO_GPU": "true" if zero else ""}
    own = dict(host="10.0.0.1:7860", Origin="https://somebody-treeviz.hf.space")
    with served(tmp_path, *STORYBOOK, env=env) as app:
        assert "there is no password" not in app.log.read_text(), "a Space is for everybody"
        status, headers, _ = app.ask("/", host="somebody-treeviz.hf.space")
        assert status == 200 and "https://huggingface.co" in headers["content-security-policy"] and "x-frame-options" not in headers
        assert app.ask("/gradio_api/upload", FILE[0], **FILE[1], **own)[0] == 200
        assert app.ask("/gradio_api/upload", FILE[0], **FILE[1], Origin="https://evil.example")[0] == 403
        answer = app.call("v2/decode", {"prompt": "Once upon a time", "chat": False, "max_new_tokens": 3, "top_k": 2, "depth": 1,
                                        "total_tokens": 4})
        assert answer[0]["summary"]["new_tokens"] == 3
        assert ("asked for a GPU" in app.log.read_text()) is zero
