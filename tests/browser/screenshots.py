"""Makes the pictures of the README from a recorded run:

    python -m tests.browser.screenshots [--run sky] [--rounds 2 2 2]

The head's layer with the beam's choice, the flattened tree with its mask, and what the target accepts; the last one in
dark. Each round is counted from one.
"""

import argparse
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.bench import serving
from tests.browser.conftest import QUIET, ROOT, chromium_path
from treeviz.page.gallery import HOME

PICTURES = [("screenshot-draft.png", "select", 1, "light"), ("screenshot-mask.png", "flatten", None, "light"),
            ("screenshot.png", "accept", None, "dark")]
EDGE = 14  # of the page around the view
SHOW = """async ([round, kind, layer]) => {
  const view = document.querySelector('.tv').treeviz;
  view.set({round});
  view.set({frame: view.model.frames.findIndex(frame => frame.kind === kind && (layer === null || frame.layer === layer))});
  await document.fonts.ready;
}"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", default="sky", help="the name of a recorded run, or a trace file")
    parser.add_argument("--rounds", type=int, nargs=3, default=[2, 2, 2])
    parser.add_argument("--out", type=Path, default=ROOT / "assets")
    args = parser.parse_args()
    path = next(HOME.glob(f"{args.run}.json*"), Path(args.run))
    with serving(path) as address, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium_path(), args=QUIET)
        for (name, kind, layer, theme), number in zip(PICTURES, args.rounds):
            page = browser.new_page(viewport={"width": 1360, "height": 1240}, reduced_motion="reduce")
            page.goto(f"{address}?__theme={theme}", timeout=120000)
            page.wait_for_selector(".tv-tree .n", timeout=120000)
            page.evaluate(SHOW, [number - 1, kind, layer])
            page.wait_for_timeout(800)
            box = page.locator(".tv").bounding_box()
            page.screenshot(path=args.out / name, clip={"x": box["x"] - EDGE, "y": box["y"] - EDGE,
                                                        "width": box["width"] + 2 * EDGE, "height": box["height"] + 2 * EDGE})
            print(f"{args.out / name}: {(args.out / name).stat().st_size / 1000:.0f} kB")
            page.close()


if __name__ == "__main__":
    main()
