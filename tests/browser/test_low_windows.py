"""In a low window the tree is seen first, and nothing lies over it."""

import pytest

from tests.browser.page import now

pytestmark = pytest.mark.timeout(120)

LOW = [(960, 540), (1280, 500)]
PARTS = (".tv-head", ".tv-time", ".tv-say", ".tv-treecard")


def opened(visit, run, width, height):
    page = visit.open(f"#run={run}&round=2", width=width, height=height)
    page.wait_for_function(f"document.querySelector('.tv').treeviz.data.header.page.name === '{run}'")
    return page


def edges(page, name):
    box = page.locator(name).bounding_box()
    return box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]


@pytest.mark.parametrize("width, height", LOW)
@pytest.mark.parametrize("run", ["sky-small", "sky", "deep"])
def test_the_tree_is_in_the_first_sight_at_every_step(visit, run, width, height):
    page = opened(visit, run, width, height)
    frames = page.locator(".tv-strip .chip").count()
    assert frames > 8
    places = set()
    for frame in range(frames):
        page.eval_on_selector(".tv", "(e, frame) => e.treeviz.set({frame})", frame)
        assert now(page)["frame"] == frame and page.evaluate("scrollY") == 0
        rows = [edges(page, name) for name in PARTS]
        assert all(above[3] <= below[1] for above, below in zip(rows, rows[1:])), "nothing lies over anything"
        _, top, _, bottom = edges(page, ".tv-treebox")
        assert bottom <= height and bottom - top >= 0.3 * height, "the tree is seen without scrolling"
        over = "(e => e.scrollHeight - e.clientHeight)(document.querySelector('.tv-say .inner'))"
        assert page.evaluate(over) <= 0, "the sentence is whole: " + page.text_content(".tv-say")
        places.add(tuple(rows))
    assert len(places) == 1, "stepping moves nothing"
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_path_of_a_small_tree_is_seen(visit):
    page = opened(visit, "sky-small", 1280, 500)
    page.eval_on_selector(".tv", "e => e.treeviz.set({frame: e.treeviz.frameOf('accept')})")
    left, top, right, bottom = edges(page, ".tv-treebox")
    path = page.locator(".tv-tree .n:is(.s-R, .s-a, .s-b)").all()
    assert len(path) > 3
    for node in path:
        box = node.bounding_box()
        name = node.get_attribute("aria-label")
        assert top <= box["y"] and box["y"] + box["height"] <= bottom, name
        assert left <= box["x"] and box["x"] + box["width"] <= right, name


@pytest.mark.parametrize("width, height", LOW)
def test_the_sentence_goes_with_the_page(visit, width, height):
    page = opened(visit, "sky", width, height)
    tree, say = edges(page, ".tv-treecard"), edges(page, ".tv-say")
    page.evaluate("scrollTo(0, 150)")
    page.wait_for_function("scrollY > 0")
    moved = page.evaluate("scrollY")
    assert edges(page, ".tv-say")[1] == pytest.approx(say[1] - moved, abs=1), "it does not stay over the tree"
    assert edges(page, ".tv-treecard")[1] == pytest.approx(tree[1] - moved, abs=1)


def test_legend_entries_are_whole(visit):
    page = opened(visit, "sky-small", 960, 540)
    legend = edges(page, ".tv-legend")
    inside = [edges(page, f".tv-legend > span >> nth={i}") for i in range(page.locator(".tv-legend > span").count())]
    seen = [box for box in inside if box[1] < legend[3]]
    assert len(seen) >= 4
    assert all(box[2] <= legend[2] + 1 and box[3] <= legend[3] + 1 for box in seen)
