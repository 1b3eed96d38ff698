"""A real Chromium on the real program, started once: recorded run, live pair, nothing reachable but this machine."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.browser.blank import Blank
from tests.trace_maker import make_trace

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "weights"
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"]


def chromium_path():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("CHROMIUM") or next((path for path in map(shutil.which, names) if path), None)


def pytest_collection_modifyitems(items):
    """First what looks at a server that has not decoded yet."""
    items.sort(key=lambda item: "without_torch" not in item.name)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api") if not os.environ.get("CI") else __import__(
        "playwright.sync_api").sync_api
    with playwright.sync_playwright() as p:
        path = chromium_path() or (p.chromium.executable_path if Path(p.chromium.executable_path).exists() else None)
        if path is None:
            message = "no Chromium found: install one, or name it in the environment variable CHROMIUM"
            pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
        chromium = p.chromium.launch(executable_path=path, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("page")


def make_live_pair(folder):
    """The golden target with a byte tokenizer, so that it can be typed to."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    target = shutil.copytree(GOLDEN / "target", folder / "target")
    config = target / "config.json"  # room for a run that is long enough to be stopped
    config.write_text(config.read_text().replace('"max_position_embeddings": 512', '"max_position_embeddings": 4096'))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: i for i, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(target)
    return target, GOLDEN / "head_bias"


@pytest.fixture(scope="session")
def server(folder):
    """(address, process) of the app on a made-up run of four rounds, decoding slowly enough to be watched."""
    make_trace(rounds=4, top_k=4, depth=3, total_tokens=16).save(folder / "opening.json.gz")
    target, head = make_live_pair(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(folder / "server.log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.slow_app", "--port", str(port), "--trace", str(folder / "opening.json.gz"),
             "--target", str(target), "--draft", str(head), "--device", "cpu"], cwd=ROOT, stdout=log, stderr=log, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    address = f"http://localhost:{port}/"
    for _ in range(240):
        try:
            urllib.request.urlopen(address, timeout=5).close()
            break
        except OSError:
            assert process.poll() is None, (folder / "server.log").read_text()
            time.sleep(0.25)
    yield address, process
    process.terminate()
    process.wait(10)


class Visit:
    """Opens pages and writes down what should not happen on them."""

    def __init__(self, browser, address):
        self.browser, self.address, self.contexts = browser, address, []
        self.foreign, self.complaints = [], []

    def open(self, hash="", width=1440, height=1000, theme="light", **settings):
        context = self.browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce",
                                           locale="en-GB", **settings)
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(40000)
        page.on("request", lambda r: self.foreign.append(r.url) if not r.url.startswith(
            (self.address, self.address.replace("http", "ws"), "data:", "blob:")) else None)
        page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: self.complaints.append(str(e)))
        page.goto(f"{self.address}?__theme={theme}{hash}")
        page.wait_for_selector(".tv-tree .n")
        page.wait_for_selector(".tv-btn, .tv-control .btn")
        return page


@pytest.fixture
def visit(browser, server):
    visit = Visit(browser, server[0])
    yield visit
    for context in visit.contexts:
        context.close()
    assert not visit.foreign, "a request left this machine"
    assert not visit.complaints, "the console complained"


@pytest.fixture
def blank(browser):
    blank = Blank(browser)
    yield blank
    for context in blank.contexts:
        context.close()
    assert not blank.complaints, "the console complained"
