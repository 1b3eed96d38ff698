"""How long a large trace takes from choosing the file to its first view, and to all of it. A measurement, not a test.

    python -m tests.browser.bench_files             100 rounds of 10,170 candidates (60 MB), and 1,900 usual rounds
    python -m tests.browser.bench_files FILE ...    traces of your own

Starts the app itself; the machine should be quiet.
"""

import argparse
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests import trace_maker
from tests.browser.conftest import QUIET, chromium_path
from tests.served import STORYBOOK, served

DATA = "document.querySelector('.tv').treeviz.data"


def large_files(folder: Path) -> list[Path]:
    words = [f"w{i}" for i in range(3000)]
    usual, trace_maker.FAN_OUT = trace_maker.FAN_OUT, 60
    trace_maker.make_trace(rounds=100, top_k=45, depth=5, total_tokens=800, words=words).save(folder / "wide.json")
    trace_maker.FAN_OUT = usual
    trace_maker.make_trace(rounds=1900, top_k=10, depth=5, total_tokens=59, words=words).save(folder / "long.json")
    return [folder / "wide.json", folder / "long.json"]


def measure(page, path: Path) -> None:
    before = page.evaluate(f"{DATA}.header.created + {DATA}.rounds")
    began = time.monotonic()
    page.locator("input[type=file]").first.set_input_files(path)
    page.wait_for_function(f"before => {DATA}.rounds && {DATA}.header.created + {DATA}.rounds !== before", arg=before, timeout=150000)
    first = time.monotonic() - began
    page.wait_for_function(f"{DATA}.footer", timeout=150000)
    print(f"{path.name}, {path.stat().st_size / 1e6:.0f} MB, {page.evaluate(f'{DATA}.rounds')} rounds: first view after "
          f"{first:.1f} s, all of it after {time.monotonic() - began:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--times", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), *STORYBOOK) as app, sync_playwright() as playwright:
        files = args.files or large_files(Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=QUIET)
        for path in files * args.times:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"http://localhost:{app.port}/")
            page.wait_for_selector(".tv-tree .n")
            measure(page, path)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
