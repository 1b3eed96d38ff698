"""The page in every size and theme: what must be seen can be seen."""

import re

import pytest

from tests.browser.page import now, sentence, speak

pytestmark = pytest.mark.timeout(170)


def test_turned_and_presented(visit):
    page = visit.open()
    box = page.locator(".tv-tree .n.s-R").bounding_box()
    page.keyboard.press("t")
    turned = page.locator(".tv-tree .n.s-a").first.bounding_box()
    assert turned["y"] > page.locator(".tv-tree .n.s-R").bounding_box()["y"] + 20 and box
    page.keyboard.press("p")
    assert not page.is_visible(".tab-wrapper") and page.is_visible(".tv-say")
    page.wait_for_function("location.hash.includes('present')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    assert now(page)["pin"] is None and not page.is_visible(".tab-wrapper"), "the first Esc unpins"
    page.keyboard.press("Escape")
    assert page.is_visible(".tab-wrapper"), "the second leaves"


@pytest.mark.parametrize("width, height", [(1440, 900), (1280, 800)])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_sentence_is_whole_when_presenting(visit, width, height, language):
    page = visit.open(f"#lang={language}", width=width, height=height)
    page.keyboard.press("p")
    over = "(e => e.scrollHeight - e.clientHeight)(document.querySelector('.tv-say .inner'))"
    for _ in range(16):
        assert page.evaluate(over) <= 0, sentence(page)
        page.keyboard.press("ArrowRight")


@pytest.mark.parametrize("width", [390, 1024])
def test_no_sideways_scrolling(visit, width):
    page = visit.open(width=width, height=844, has_touch=width == 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    tree, say = (page.locator(name).bounding_box() for name in (".tv-treebox", ".tv-say"))
    assert say["y"] + say["height"] <= tree["y"], "the sentence stands above the tree"
    if width == 390:  # a tap does what a hover does
        page.locator(".tv-tree .n.s-b").tap()
        assert now(page)["pin"] == page.eval_on_selector(".tv", "e => e.treeviz.model.bonus")
        assert page.locator("[data-action=next]").bounding_box()["height"] >= 40


def test_dark_theme(visit):
    page = visit.open(theme="dark")
    assert page.locator(".tv.dark").count() == 1
    light, dark = "rgb(255, 255, 255)", page.eval_on_selector(".tv-card", "e => getComputedStyle(e).backgroundColor")
    assert dark != light


@pytest.mark.parametrize("width, height", [(1440, 1000), (1280, 720), (1366, 650), (1024, 900), (1000, 900), (880, 900)])
def test_the_accepted_path_is_in_sight(visit, width, height):
    page = visit.open("#run=sky-small", width=width, height=height)
    page.wait_for_function("document.querySelector('.tv').treeviz.data.header.page.name === 'sky-small'")
    tree = page.locator(".tv-treebox").bounding_box()
    for node in page.locator(".tv-tree .n.s-a, .tv-tree .n.s-b").all():
        box = node.bounding_box()
        assert box["y"] >= tree["y"] and box["y"] + box["height"] <= tree["y"] + tree["height"], node.get_attribute("aria-label")


@pytest.mark.parametrize("width, height", [(1440, 900), (1280, 720), (1366, 650), (1024, 768)])
def test_the_first_sentence_is_whole_below_its_introduction(visit, width, height):
    page = visit.open(width=width, height=height)
    assert page.is_visible(".tv-intro")
    assert page.evaluate("(e => e.scrollHeight - e.clientHeight)(document.querySelector('.tv-say .inner'))") <= 0


def test_what_came_after_the_end_of_the_output_is_not_said_to_be_written(visit):
    page = visit.open("#run=sky-small&round=27")
    page.wait_for_function("document.querySelector('.tv').treeviz.data.header.page.name === 'sky-small'")
    assert page.locator(".tv-stream .round.now .beyond").count() == 1
    assert page.text_content(".tv-gain").endswith("The output had its end before the last of them.")
    page.keyboard.press("[")
    assert "had its end" not in page.text_content(".tv-gain")


def test_on_a_phone_the_menu_stays_on_the_screen(visit):
    page = visit.open(width=390, height=844, has_touch=True)
    page.click(".tv-menu summary")
    box = page.locator(".tv-menu .list").bounding_box()
    assert 0 <= box["x"] and box["x"] + box["width"] <= 390


def test_the_tree_is_one_tab_stop(visit):
    page = visit.open()
    page.focus("[data-action=fit]")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.node") == "0", "the root, not the drawing around it"
    page.keyboard.press("Enter")
    assert now(page)["pin"] == 0


def test_the_target_s_word_leaves_the_root_its_own(visit):
    page = visit.open("#run=sky")
    page.wait_for_function("document.querySelector('.tv').treeviz.data.header.page.name === 'sky'")
    page.keyboard.press("ArrowLeft")
    assert page.text_content(".tv-tree .n.s-R .label") == "The" and "→" in page.text_content(".tv-tree .n.s-R .side")


@pytest.mark.parametrize("run", ["code", "deep"])
def test_a_link_shows_what_stepping_shows(visit, run):
    """Where the tree is looked at from depends on the frame alone; the bonus and its parent are seen where they are told of."""
    page = visit.open(f"#run={run}", width=1440, height=900)
    page.wait_for_function(f"document.querySelector('.tv').treeviz.data.header.page.name === '{run}'")
    place = "e => e.querySelector('.tv-tree .world').getAttribute('transform')"
    page.eval_on_selector(".tv", "e => e.treeviz.set({round: 2, frame: 0})")
    stepped = []
    for _ in range(page.locator(".tv-strip .chip").count()):
        stepped.append(page.eval_on_selector(".tv", place))
        page.keyboard.press("ArrowRight")
    for frame in (4, 12, 15):
        fresh = visit.open(f"#run={run}&round=3&frame={frame + 1}", width=1440, height=900)
        fresh.wait_for_function(f"document.querySelector('.tv').treeviz.data.header.page.name === '{run}'")
        assert now(fresh)["frame"] == frame and fresh.eval_on_selector(".tv", place) == stepped[frame]
    bonus, tree = (fresh.locator(name).bounding_box() for name in (".tv-tree .n.s-b", ".tv-treebox"))
    assert now(fresh)["kind"] == "accept" and bonus["y"] + bonus["height"] <= tree["y"] + tree["height"]


def test_keys_go_on_from_where_the_focus_is(visit):
    page = visit.open()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Alt+ArrowRight")
    child = now(page)["pin"]
    page.keyboard.press("Escape")
    assert now(page)["pin"] is None
    page.keyboard.press("Alt+ArrowLeft")
    assert now(page)["pin"] == 0 and child != 0


def test_a_switch_of_language_renames_the_boxes(visit):
    page = visit.open()
    before = page.get_attribute(".tv-tree .n.s-a", "aria-label"), page.get_attribute(".tv-tree", "aria-label")
    speak(page, "zh")
    after = page.get_attribute(".tv-tree .n.s-a", "aria-label"), page.get_attribute(".tv-tree", "aria-label")
    assert all(re.search("[\u4e00-\u9fff]", text) for text in after) and not any(re.search("[\u4e00-\u9fff]", text) for text in before)


# -- the window holds it all: the rules as boxes -----------------------------------------------------------------------

BOXES = """() => {
  const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom].map(Math.round); };
  const seen = e => e.offsetParent !== null && e.getBoundingClientRect().height > 0;
  const say = document.querySelector('.tv-say .inner'), tree = document.querySelector('.tv-treebox');
  const nodes = name => [...document.querySelectorAll('.tv-tree .n' + name)].filter(n => !n.classList.contains('s-none'));
  return {scrolls: [document.documentElement.scrollHeight - innerHeight, document.documentElement.scrollWidth - innerWidth],
          cards: [...document.querySelectorAll('.tv-card, .tv-head')].filter(seen).map(e => [e.className, ...box(e)]),
          over: say.scrollHeight - say.clientHeight, tree: box(tree),
          must: ['.s-R', '.s-a', '.s-b'].flatMap(name => nodes(name).map(n => box(n.querySelector('rect')))),
          type: Math.min(...nodes('').map(n => parseFloat(getComputedStyle(n.querySelector('.label')).fontSize)))};
}"""


@pytest.mark.parametrize("width, height", [(1024, 768), (1280, 720), (1440, 900), (1920, 1080)])
@pytest.mark.parametrize("run", ["sky-small", "deep", "wide"])
def test_the_window_holds_it_all(visit, run, width, height):
    """No page scroll, nothing over anything, the sentence whole, root, path and bonus in sight, type that can be read."""
    page = visit.open(f"#run={run}", width=width, height=height)
    page.wait_for_function(f"document.querySelector('.tv').treeviz.data.header.page.name === '{run}'")
    for round in (1, 4, 9):
        frames = page.eval_on_selector(".tv", f"e => (e.treeviz.set({{round: {round}, frame: 0}}), e.treeviz.model.frames.length)")
        tops = set()
        for frame in range(0, frames, 1 if run == "sky-small" else 3):
            page.eval_on_selector(".tv", f"e => e.treeviz.set({{frame: {frame}}})")
            page.evaluate("new Promise(requestAnimationFrame)")
            seen = page.evaluate(BOXES)
            where = (run, round, frame, sentence(page))
            assert seen["scrolls"][0] <= 0 and seen["scrolls"][1] <= 0, where
            assert seen["over"] <= 0, where
            for i, (one, *a) in enumerate(seen["cards"]):
                for other, *b in seen["cards"][:i]:
                    assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (one, other, where)
            left, top, right, low = seen["tree"]
            tops.add((top, low))
            for x1, y1, x2, y2 in seen["must"]:
                assert x1 >= left - 1 and x2 <= right + 1 and y1 >= top - 1 and y2 <= low + 1, where
            assert seen["type"] >= 11.4, where
        assert len(tops) == 1, "stepping moves nothing"
    if height == 900:
        assert low - top >= 0.55 * height


@pytest.mark.parametrize("width, height", [(1280, 720), (1920, 1080)])
def test_presented_it_is_large(visit, width, height):
    page = visit.open("#run=sky&present=1", width=width, height=height)
    page.wait_for_function("document.querySelector('.tv').treeviz.data.header.page.name === 'sky'")
    least = page.evaluate("""() => {
      const zoom = parseFloat(getComputedStyle(document.querySelector('.tv')).zoom), sizes = [];
      for (const e of document.querySelectorAll('.tv-say b, .tv-tree .label, .tv .chip, .tv-tabs .tab'))
        if (e.getBoundingClientRect().height) sizes.push(parseFloat(getComputedStyle(e).fontSize) * zoom);
      return Math.min(...sizes);
    }""")
    assert least >= 20 and page.evaluate(BOXES)["scrolls"][0] <= 0


def test_boxes_by_choice(visit):
    """Only those that were kept, the best few, a branch folded and opened again."""
    page = visit.open("#run=sky", width=1440, height=900)
    page.wait_for_function("document.querySelector('.tv').treeviz.data.header.page.name === 'sky'")
    count = "document.querySelectorAll('.tv-tree .n').length"
    everything = page.evaluate(count)
    page.click("[data-action=only]")
    kept = page.evaluate(count)
    page.click("[data-action=only]")
    best = page.evaluate(count)
    assert everything > kept > best > 4 and page.locator(".tv-tree .n.s-p").count() == 0
    page.wait_for_function("location.hash.includes('only=8')")
    page.click("[data-action=only]")
    branch = page.evaluate("""() => { const {tree, model: m} = document.querySelector('.tv').treeviz;
      return [...tree.nodes.keys()].find(id => id && m.depth(id) === 1 && !tree.kept(m).has(id) && [...tree.nodes.keys()].some(k => m.parent[k] === id)); }""")
    page.dblclick(f".tv-tree [data-node='{branch}']")
    assert page.evaluate(count) < everything and re.search(r"\+\d", page.text_content(f".tv-tree [data-node='{branch}'] .label"))
    page.dblclick(f".tv-tree [data-node='{branch}']")
    assert page.evaluate(count) == everything
