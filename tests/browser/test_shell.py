"""A shell without a host, as in a single file: keys, address, language and theme of a page that has nothing else."""

import pytest

from tests.browser.blank import COUNT
from tests.trace_maker import make_trace
from treeviz.story.lines import page_lines

pytestmark = pytest.mark.timeout(170)
MOUNT = """async trace => {
  const {Shell} = await import('/view/shell.js');
  globalThis.shell = new Shell(document.querySelector('.box'), words);
  shell.view.read(trace, false);
}"""
STATE = "({...shell.view.state})"
THIRD = "words.eo = {name: 'Esperanto', switch: 'EO', view: {present: 'Prezenti', intro: words.en.view.intro}}"


def show(blank, hash="", before=None, **settings):
    page = blank.open(hash, **settings)
    if before:
        page.evaluate(before)
    page.evaluate(MOUNT, page_lines(make_trace(rounds=3)))
    page.wait_for_function("shell.view.tree.nodes.size")
    return page


def test_keys_and_address_are_the_shell_s(blank):
    page = show(blank, "#round=2&frame=3&panel=rows&down=1")
    state = page.evaluate(STATE)
    assert (state["round"], state["frame"], state["panel"], state["down"]) == (1, 2, "rows", True)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("p")
    page.wait_for_function("location.hash.includes('frame=4') && location.hash.includes('present')")
    assert page.evaluate("document.body.className") == "tv-present"
    page.evaluate("location.hash = 'round=3&frame=1'")
    page.wait_for_function("shell.view.state.round === 2")
    assert page.evaluate("document.body.className") == "" and not page.evaluate("shell.view.state.present")


def test_the_theme_is_the_browser_s(blank):
    page = show(blank, color_scheme="dark")
    assert page.locator(".tv.dark").count() == 1 and page.evaluate("document.documentElement.style.colorScheme") == "dark"
    page.emulate_media(color_scheme="light")
    page.wait_for_selector(".tv:not(.dark)")


@pytest.mark.parametrize(("locale", "language"), [("en-GB", "en"), ("zh-CN", "zh"), ("de-DE", "en")])
def test_the_language_is_the_browser_s_where_there_is_one(blank, locale, language):
    page = show(blank, locale=locale)
    assert page.evaluate("shell.view.state.lang") == language


def test_the_switch_goes_through_the_languages_that_there_are(blank):
    page = show(blank, before=THIRD)
    assert page.text_content("[data-action=lang]") == "EN 中文 EO"
    assert page.get_attribute("[data-action=lang]", "aria-label") == "English / 中文 / Esperanto"
    said = []
    for _ in range(4):
        said.append((page.evaluate("document.documentElement.lang"), page.text_content("[data-action=present]")))
        page.click("[data-action=lang]")
    assert said[1:] == [("zh", "演示"), ("eo", "Prezenti"), ("en", "Present")]
    assert page.text_content("[data-action=link]") == "复制链接", "the third click"


def test_what_a_language_lacks_is_english(blank):
    page = show(blank, "#lang=eo", before=THIRD)
    assert page.text_content("[data-action=present]") == "Prezenti" and page.text_content("[data-action=save]") == "Save trace"
    assert page.text_content(".tv-say p >> nth=1"), "the sentences too"


def test_a_shell_that_goes_leaves_nothing_behind(blank):
    page = blank.open("#present=1")
    page.wait_for_function("globalThis.shell = []")
    page.evaluate(COUNT)
    nothing = page.evaluate("({...open})")
    page.evaluate(MOUNT, page_lines(make_trace(rounds=3)))
    page.wait_for_function("shell.view.tree.nodes.size")
    page.evaluate("shell.toast('said'); shell.view.set({frame: 1})")
    there = page.evaluate("({...open})")
    assert there["listeners"] > nothing["listeners"] + 40 and there["timers"] >= 2
    page.evaluate("shell.destroy()")
    assert page.evaluate("({...open})") == nothing
    assert page.locator(".box >> nth=0").inner_html() == "" and page.evaluate("document.body.className") == ""


def test_one_that_was_only_taken_away_ends_with_the_next_key(blank):
    page = show(blank)
    page.evaluate("document.querySelector('.tv').remove()")
    frame = page.evaluate("shell.view.state.frame")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("[shell.life.signal.aborted, shell.view.life.signal.aborted]") == [True, True]
    assert page.evaluate("shell.view.state.frame") == frame
