"""How fast a step is: our view against the same step drawn by plotly.js, in the same browser. Run it by hand:

    python -m tests.browser.bench [--rounds 100]
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
from pathlib import Path

from playwright.sync_api import sync_playwright
from plotly.offline import get_plotlyjs

from tests.browser.conftest import QUIET, ROOT, chromium_path
from tests.trace_maker import make_trace
from treeviz.figures import mask_figure, tree_figure
from treeviz.frames import frames

OURS = """async n => {
  const view = document.querySelector('.tv').treeviz, work = [], painted = [], frame = () => new Promise(requestAnimationFrame);
  for (let i = 0; i < 4 * n; i++) {
    if (i % n === 0) { view.set({round: 2, frame: 0}); await frame(); await frame(); }
    const start = performance.now();
    view.step(1);
    view.ref.tree.getBoundingClientRect();
    work.push(performance.now() - start);
    await frame(); await frame();
    painted.push(performance.now() - start);
  }
  const ids = [...view.model.place.keys()], hover = [];
  for (let i = 0; i < n; i++) {
    const start = performance.now();
    view.hover(ids[i % ids.length]);
    view.ref.tree.getBoundingClientRect();
    hover.push(performance.now() - start);
    await frame(); await frame();
  }
  return {work: work.slice(n), painted: painted.slice(n), hover};
}"""
THEIRS = """async figures => {
  const tree = document.createElement('div'), mask = document.createElement('div'), work = [], painted = [];
  for (const node of [tree, mask]) { node.style.cssText = 'width:860px;height:600px'; document.body.append(node); }
  const frame = () => new Promise(requestAnimationFrame);
  for (const [a, b] of [...figures, ...figures, ...figures, ...figures]) {
    const start = performance.now();
    await Plotly.react(tree, a.data, a.layout); await Plotly.react(mask, b.data, b.layout);
    tree.getBoundingClientRect();
    work.push(performance.now() - start);
    await frame(); await frame();
    painted.push(performance.now() - start);
  }
  const warm = figures.length;
  return {work: work.slice(warm), painted: painted.slice(warm)};
}"""


def line(name, values):
    values = sorted(values)
    print(f"{name:44} median {statistics.median(values):7.2f} ms   p90 {values[int(len(values) * 0.9)]:7.2f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    args = parser.parse_args()
    trace = make_trace(rounds=args.rounds, top_k=10, depth=7, total_tokens=59)
    r = trace.rounds[2]
    figures = [[json.loads(tree_figure(r, trace, i).to_json()), json.loads(mask_figure(r, trace).to_json())]
               for i in range(len(frames(r)))]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        trace.save(Path(folder) / "bench.json.gz")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = subprocess.Popen([sys.executable, "app.py", "--port", str(port), "--demo", "--trace", f"{folder}/bench.json.gz"],
                                  cwd=ROOT, stdout=subprocess.DEVNULL, env=os.environ)
        try:
            address = f"http://localhost:{port}/"
            while True:
                try:
                    urllib.request.urlopen(address).close()
                    break
                except OSError:
                    time.sleep(0.2)
            browser = p.chromium.launch(executable_path=chromium_path(), args=QUIET)
            opened = []
            for _ in range(3):
                page = browser.new_page(viewport={"width": 1440, "height": 1000})
                start = time.perf_counter()
                page.goto(address)
                page.wait_for_selector(".tv-tree .n")
                opened.append((time.perf_counter() - start) * 1000)
                if len(opened) < 3:
                    page.close()
            parsed = page.evaluate("""() => { const v = document.querySelector('.tv').treeviz, text = v.data.text, start = performance.now();
              new v.data.constructor().read(text); return [performance.now() - start, text.length]; }""")
            ours = page.evaluate(OURS, len(figures) - 1)
            page.add_script_tag(content=get_plotlyjs())
            theirs = page.evaluate(THEIRS, figures)
        finally:
            server.terminate()
    print(f"{args.rounds} rounds, top_k 10, depth 7, 59 nodes; trace string {parsed[1] / 1e6:.2f} MB, parsed in {parsed[0]:.0f} ms")
    line("page opened to the first tree", opened)
    line("step, script and layout", ours["work"])
    line("step, to the second frame after it", ours["painted"])
    line("hover link, script and layout", ours["hover"])
    line("Plotly.react, same step, script and layout", theirs["work"])
    line("Plotly.react, to the second frame after it", theirs["painted"])
    print(f"our step is {statistics.median(theirs['work']) / statistics.median(ours['work']):.0f} times faster")


if __name__ == "__main__":
    main()
