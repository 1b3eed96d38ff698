"""How long it takes to open: `python app.py --demo` against an empty gradio page started the same way. Run it by hand:

    python -m tests.browser.bench_open [--times 5]

Both are told apart twice: from the start of the process to the first answer, and on to the moment when the page stands in
Chromium (the first tree; of the empty page, its footer). Seconds of wall clock, and of the processor for the server.
"""

import argparse
import os
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

from playwright.sync_api import sync_playwright

from tests.browser.conftest import QUIET, ROOT, chromium_path

EMPTY = """import os
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
import gradio as gr
with gr.Blocks() as demo:
    pass
demo.launch(server_port={port}, ssr_mode=False)
"""
PAGES = {"empty page": (lambda port: ["-c", EMPTY.format(port=port)], "footer"),
         "app.py --demo": (lambda port: ["app.py", "--demo", "--port", str(port)], ".tv-tree .n")}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def opened(browser, arguments, landmark: str) -> tuple[float, float, float]:
    """(start to first answer, start to the page in the browser, processor seconds of the server until then)."""
    port = free_port()
    start = time.perf_counter()
    server = subprocess.Popen([sys.executable, *arguments(port)], cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://localhost:{port}/", timeout=60).close()
                break
            except OSError:
                time.sleep(0.02)
        answered = time.perf_counter() - start
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(f"http://localhost:{port}/")
        page.wait_for_function("what => document.querySelector(what)", arg=landmark, timeout=120_000)  # looked for in every painting
        stands = time.perf_counter() - start
        page.close()
    finally:
        before = os.times()
        server.terminate()
        server.wait()
        after = os.times()
    worked = after.children_user - before.children_user + after.children_system - before.children_system
    return answered, stands, worked


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    found = {name: [] for name in PAGES}
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium_path(), args=QUIET)
        for _ in range(times):  # in turn, so that a busy moment meets both
            for name, (arguments, landmark) in PAGES.items():
                found[name].append(opened(browser, arguments, landmark))
        browser.close()
    columns = ("start to first answer", "start to the page in the browser", "of it, the server's processor time")
    print(f"{'seconds, median of ' + str(times):36}" + "".join(f"{name:>16}" for name in PAGES) + f"{'ratio':>9}")
    for i, column in enumerate(columns):
        empty, ours = (statistics.median(row[i] for row in found[name]) for name in PAGES)
        print(f"{column:36}{empty:16.2f}{ours:16.2f}{ours / empty:9.2f}")


if __name__ == "__main__":
    main()
