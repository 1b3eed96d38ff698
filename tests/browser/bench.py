"""How fast a step is: our view against the same step drawn by plotly.js, in the same browser. Run it by hand:

    python -m tests.browser.bench [--rounds 100]

Both sides are told to show a frame of the same round, tree and mask, every box, edge, number and hair of a fan, and both
are measured alike: the time that the page's main thread computes until the frame is painted (style, layout, and the rest:
script and painting). It is processor time, so that a busy machine blurs it less. Our whole step is measured as well: it
also writes the sentence, the details, the source and the token stream, which plotly's side does not have.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright
from plotly.offline import get_plotlyjs

from tests.browser.conftest import QUIET, ROOT, chromium_path
from tests.trace_maker import make_trace
from treeviz.figures import mask_figure, tree_figure
from treeviz.story.frames import frames

ROUND, LAPS = 2, 3
SHOWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
PARSE = """() => { const data = document.querySelector('.tv').treeviz.data, start = performance.now();
  new data.constructor().read(data.text); return [performance.now() - start, data.text.length]; }"""
ALONE = "for (const part of ['details', 'saying', 'timeline', 'stream']) view[part].frame = view[part].focus = () => {}"
PARTS = {"style": "RecalcStyleDuration", "layout": "LayoutDuration", "all": "TaskDuration"}
COLUMNS = ("style", "layout", "rest", "all")


class Clock:
    """Processor milliseconds of the page's main thread while it does one thing and shows it, by part."""

    def __init__(self, page):
        self.page, self.session = page, page.context.new_cdp_session(page)
        self.session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def _now(self):
        got = {each["name"]: each["value"] * 1000 for each in self.session.send("Performance.getMetrics")["metrics"]}
        return {part: got[name] for part, name in PARTS.items()}

    def of(self, action, argument=None):
        before = self._now()
        self.page.evaluate(f"async x => {{ {action}; await {SHOWN}; }}", argument)
        after = self._now()
        return {part: after[part] - before[part] for part in PARTS}


def medians(runs, empty):
    """The median of each part, less what the browser computes when nothing is to be shown."""
    got = {part: statistics.median(run[part] for run in runs) - statistics.median(run[part] for run in empty) for part in PARTS}
    return got | {"rest": got["all"] - got["style"] - got["layout"]}


def row(name, got):
    print(f"{name:34}" + "".join(f"{got[part]:10.2f}" for part in COLUMNS))


@contextmanager
def serving(path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "app.py", "--port", str(port), "--demo", "--trace", str(path)], cwd=ROOT,
                              stdout=subprocess.DEVNULL, env=os.environ)
    try:
        address = f"http://localhost:{port}/"
        while server.poll() is None:
            try:
                urllib.request.urlopen(address).close()
                break
            except OSError:
                time.sleep(0.2)
        else:
            sys.exit("The app did not start.")
        yield address
    finally:
        server.terminate()
        server.wait()


def opening(browser, address):
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    start = time.perf_counter()
    page.goto(address, timeout=120000)
    page.wait_for_selector(".tv-tree .n", timeout=120000)
    seconds = time.perf_counter() - start
    page.evaluate("window.view = document.querySelector('.tv').treeviz")
    return seconds, page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    args = parser.parse_args()
    trace = make_trace(rounds=args.rounds, top_k=10, depth=7, total_tokens=59)
    r = trace.rounds[ROUND]
    figures = [[json.loads(tree_figure(r, trace, i).to_json()), json.loads(mask_figure(r, trace).to_json())]
               for i in range(len(frames(r)))]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        path = Path(folder) / "bench.json.gz"
        trace.save(path)
        with serving(path) as address:
            browser = p.chromium.launch(executable_path=chromium_path(), args=QUIET)
            opened, pages = zip(*(opening(browser, address) for _ in range(3)))
            milliseconds, length = pages[0].evaluate(PARSE)
            print(f"{args.rounds} rounds, top_k 10, depth 7, 59 nodes; trace string {length / 1e6:.2f} MB, parsed in "
                  f"{milliseconds:.0f} ms; page opened to the first tree in {statistics.median(opened):.2f} s")
            measure(*pages, figures)


def measure(whole, alone, plotly, figures):
    """Lap by lap, each side in turn, so that what slows the machine down slows them all; the first lap is not counted."""
    alone.evaluate(ALONE)
    plotly.evaluate("view.ref.root.closest('.gradio-container').remove()")
    plotly.add_script_tag(content=get_plotlyjs())
    plotly.evaluate("""for (const name of ['tree', 'mask']) { const box = window[name] = document.createElement('div');
      box.style.cssText = 'width:860px;height:600px'; document.body.append(box); }""")
    nodes = whole.evaluate("[...view.model.place.keys()]")
    start, step = f"view.set({{round: {ROUND}, frame: 0}})", "view.step(1)"
    react = "await Plotly.react(tree, x[0].data, x[0].layout); await Plotly.react(mask, x[1].data, x[1].layout)"
    jobs = {  # (page, what comes before, what is measured, with each of these)
        "our step, tree and mask": (alone, start, step, [None] * (len(figures) - 1)),
        "the same step, Plotly.react": (plotly, react, react, figures),
        "our step, the whole view": (whole, start, step, [None] * (len(figures) - 1)),
        "our hover link": (whole, "", "view.hover(x)", nodes),
    }
    clocks = {page: Clock(page) for page in (whole, alone, plotly)}
    done, empty = {name: [] for name in jobs}, {name: [] for name in jobs}
    for lap in range(LAPS + 1):
        for name, (page, before, action, arguments) in jobs.items():
            page.bring_to_front()
            clock = clocks[page]
            clock.of(before, arguments[0])
            # handing an argument over, as plotly's figure, is not its work: it is taken off
            runs, nothing = [clock.of(action, each) for each in arguments], [clock.of("", each) for each in arguments]
            if lap:
                done[name] += runs
                empty[name] += nothing
    got = {name: medians(done[name], empty[name]) for name in jobs}
    ours, theirs, all_ours = (got[name]["all"] for name in list(jobs)[:3])
    print(f"\n{'main thread, median milliseconds':34}" + "".join(f"{part:>10}" for part in COLUMNS))
    for name, parts in got.items():
        row(name, parts)
    print(f"\nThe same step is {theirs / ours:.1f} times faster than by Plotly.react; our whole view, {theirs / all_ours:.1f} times.")


if __name__ == "__main__":
    main()
