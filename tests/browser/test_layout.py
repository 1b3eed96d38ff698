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
    assert (say["y"] + say["height"] <= tree["y"]) == (width == 390), "on a phone the sentence stands above the tree"
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
def test_the_accepted_path_stays_clear_of_the_sentence(visit, width, height):
    page = visit.open("#run=sky-small", width=width, height=height)
    page.wait_for_function("document.querySelector('.tv').treeviz.data.header.page.name === 'sky-small'")
    tree, say = (page.locator(name).bounding_box() for name in (".tv-treebox", ".tv-say"))
    for node in page.locator(".tv-tree .n.s-a, .tv-tree .n.s-b").all():
        box = node.bounding_box()
        assert box["y"] >= tree["y"] and box["y"] + box["height"] <= say["y"], node.get_attribute("aria-label")


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
    bonus, say = fresh.locator(".tv-tree .n.s-b").bounding_box(), fresh.locator(".tv-say").bounding_box()
    assert now(fresh)["kind"] == "accept" and bonus["y"] + bonus["height"] <= say["y"]


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
