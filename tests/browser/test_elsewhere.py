"""The view where others have put it: in a page of somebody's own, below a part of a site, in a debugger."""

import contextlib
import http.client
import http.server
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from tests.served import DEMO, ROOT, free_port, served

pytestmark = pytest.mark.timeout(170)
OWN = """import os
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
import gradio as gr
from core.trace import Trace
from treeviz import trace_view
from treeviz.story.lines import page_lines

def lines(name):
    return page_lines(Trace.load(f"assets/traces/{name}.json.gz"))

with gr.Blocks() as demo:
    view = trace_view(lines("sky-small"))
    another = gr.Button("another")
    another.click(lambda: lines("storybook"), None, view)
demo.launch(server_port=PORT, ssr_mode=False)
"""
VIEW = "document.querySelector('.tv').treeviz"


@contextlib.contextmanager
def own_page():
    """Somebody's own gradio page with a view in it: nothing of `treeviz.page`."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", OWN.replace("PORT", str(port))], cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        for _ in range(240):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://localhost:{port}/", timeout=5).close()
                break
            assert process.poll() is None
            time.sleep(0.25)
        yield f"http://localhost:{port}/"
    finally:
        process.terminate()
        process.wait(20)


def opened(browser, address, complaints):
    page = browser.new_context(viewport={"width": 1440, "height": 1000}, locale="en-GB").new_page()
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" and "Failed to load" not in m.text else None)
    page.on("pageerror", lambda e: complaints.append(str(e)))
    page.on("response", lambda r: complaints.append(f"{r.status} {r.url}") if r.status >= 400 else None)  # gradio's manifest is none
    page.goto(address)
    page.wait_for_selector(".tv-tree .n")
    return page


def test_in_a_gradio_page_of_somebody_s_own(browser):
    complaints = []
    with own_page() as address:
        page = opened(browser, address, complaints)
        frame = page.evaluate(f"{VIEW}.state.frame")
        page.keyboard.press("ArrowLeft")
        assert page.evaluate(f"{VIEW}.state.frame") == frame - 1
        page.locator(".tv-tree .n.s-R").hover()
        assert page.locator(".tv-tree .n.me").count() == 1
        page.get_by_role("button", name="another").click()
        page.wait_for_function(f"{VIEW}.data.rounds > 15")
        assert page.text_content(".tv-strip").startswith("root")
        page.context.close()
    assert not complaints


@contextlib.contextmanager
def below(port, part):
    """A proxy that shows what listens on a port as a part of its own site, and nothing else."""
    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if not self.path.startswith(part):
                return self.send_error(404)
            ours = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            with contextlib.closing(ours), contextlib.suppress(OSError):
                ours.request(self.command, self.path.removeprefix(part.rstrip("/")), self._body(), dict(self.headers))
                answer = ours.getresponse()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "date", "server"):
                        self.send_header(name, value)
                self.end_headers()
                while piece := answer.read1():
                    self.wfile.write(piece)
                    self.wfile.flush()

        do_POST = do_GET

        def _body(self):
            return self.rfile.read(int(self.headers.get("Content-Length", 0))) or None

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}{part}"
        server.shutdown()


def test_as_a_part_of_a_site(browser, tmp_path):
    complaints = []
    with served(tmp_path, *DEMO, env={"GRADIO_ROOT_PATH": "/some/trees"}) as app, below(app.port, "/some/trees/") as address:
        page = opened(browser, f"{address}#run=storybook&round=3", complaints)
        page.wait_for_function(f"{VIEW}.data.header.page.name === 'storybook' && {VIEW}.state.round === 2")
        page.click("[data-action=lang]")
        page.wait_for_function("document.documentElement.lang === 'zh'")
        page.context.close()
    assert not complaints, complaints


def test_the_debugger_shows_each_module_by_its_name(visit):
    page, named = visit.open(), []
    debugger = page.context.new_cdp_session(page)
    debugger.on("Debugger.scriptParsed", lambda script: named.append(script["url"]))
    debugger.send("Debugger.enable")
    page.wait_for_timeout(200)
    modules = {f"treeviz/view/{path.relative_to(ROOT / 'assets' / 'view').as_posix()}" for path in (ROOT / "assets/view").rglob("*.js")}
    assert modules <= set(named)
