"""What a stranger's page can do in a real browser with this one: nothing. Who may frame it, can."""

import contextlib
import http.server
import threading

import pytest

from tests.browser.conftest import QUIET, chromium_path
from tests.served import DEMO, served

pytestmark = pytest.mark.timeout(170)
HOSTILE = """<!doctype html><title>stranger</title><iframe></iframe><script>
const target = %r, tried = {};
document.querySelector('iframe').src = target;
const body = new FormData();
body.append('files', new File(['{}'], 'theirs.json'));
const ways = {
  read: () => fetch(target + 'config').then(answer => answer.text()),
  upload: () => fetch(target + 'gradio_api/upload', {method: 'POST', body}).then(answer => answer.text()),
  blind: () => fetch(target + 'gradio_api/upload', {method: 'POST', body, mode: 'no-cors'}).then(answer => answer.type),
  queue: () => fetch(target + 'gradio_api/queue/join', {method: 'POST', headers: {'Content-Type': 'application/json'},
                     body: '{"data": [], "fn_index": 0, "session_hash": "theirs"}'}).then(answer => answer.text()),
};
Promise.all(Object.entries(ways).map(([name, way]) => way().then(said => tried[name] = said, () => tried[name] = 'failed')))
  .then(() => { window.tried = tried; });
</script>"""


@contextlib.contextmanager
def stranger(target):
    """A site of somebody else, with the hostile page."""
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write((HOSTILE % target).encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://evil.example:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def page(browser):
    """A page of a browser for which a stranger's name leads to this machine."""
    args = [*QUIET[:-1], "--host-resolver-rules=MAP evil.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
            "--disable-features=LocalNetworkAccessChecks"]  # the browser's own guard, which others do not have
    chromium = browser.browser_type.launch(executable_path=chromium_path() or browser.browser_type.executable_path, args=args)
    yield chromium.new_page()
    chromium.close()


def framed(page):
    """What is to be seen in the frame."""
    frame = page.query_selector("iframe").content_frame()
    frame.wait_for_load_state()
    return frame


def test_a_stranger_s_page_reads_nothing_sends_nothing_and_frames_nothing(page, tmp_path):
    with served(tmp_path, *DEMO) as app:
        with stranger(f"http://localhost:{app.port}/") as address:
            page.goto(address)
            page.wait_for_function("window.tried")
            assert page.evaluate("tried") == {"read": "failed", "upload": "failed", "blind": "opaque", "queue": "failed"}
            assert framed(page).url.startswith("chrome-error:") and not framed(page).query_selector(".tv")
        answer = page.goto(f"http://evil.example:{app.port}/")
        assert answer.status == 403 and "not served under the name evil.example" in page.text_content("body")
        page.goto(f"http://localhost:{app.port}/")
        page.wait_for_selector(".tv-tree .n")
        assert not [path for path in tmp_path.glob("treeviz-*/files/**/*") if path.is_file()], "no file came in"


def test_a_space_is_framed_by_its_host_and_by_whom_it_names(page, tmp_path):
    env = {"SPACE_ID": "somebody/treeviz", "TREEVIZ_ALLOW_FRAME": "https://course.example"}
    with served(tmp_path, *DEMO, env=env) as app:
        around = f"<!doctype html><iframe width=1200 height=800 src='http://localhost:{app.port}/'></iframe>"
        page.route("https://*/**", lambda route: route.fulfill(body=around, content_type="text/html"))
        for site, seen in (("https://huggingface.co/spaces/somebody/treeviz", True), ("https://course.example/", True),
                           ("https://evil.example/", False)):
            page.goto(site)
            if seen:
                framed(page).wait_for_selector(".tv-tree .n")
            else:
                assert not framed(page).query_selector(".tv") and framed(page).url.startswith("chrome-error:")
