"""What a newcomer reads and reaches: the text card, the tables, the keys, the address."""

import pytest

from tests.browser.page import now, open_sidebar
from tests.trace_maker import make_trace

pytestmark = pytest.mark.timeout(170)
SETTLE = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
VIEW = "document.querySelector('.tv').treeviz"


def shown(page, run):
    page.wait_for_function(f"{VIEW}.data.header.page.name === '{run}'")
    page.evaluate(SETTLE)


def show(visit, run, place="", **settings):
    page = visit.open(f"#run={run}{place}", **settings)
    shown(page, run)
    return page


# -- the text card -----------------------------------------------------------------------------------------------------

SEEN = """() => { const box = document.querySelector('.tv-stream'), card = box.getBoundingClientRect();
  const all = [...box.querySelectorAll('.round.now .piece')].flatMap(e => [...e.getClientRects()]);
  const top = Math.min(...all.map(r => r.top)), low = Math.max(...all.map(r => r.bottom));
  return low - top > card.height ? top >= card.top : top >= card.top && low <= card.bottom; }"""


def test_the_round_is_seen_whole_in_the_text(visit):
    page = show(visit, "storybook", "&round=10&frame=14", height=900)
    assert page.evaluate(SEEN)
    rounds = now(page)["rounds"]
    for i in [*range(rounds), *reversed(range(rounds))]:
        page.evaluate(f"{VIEW}.set({{round: {i}}})")
        assert page.evaluate(SEEN), f"round {i + 1}"


def test_the_text_does_not_move_where_the_round_is_in_sight(visit):
    page = show(visit, "storybook", "&round=1", height=900)
    last = page.eval_on_selector(".tv", """e => { const box = e.treeviz.ref.stream, low = box.getBoundingClientRect().top + box.clientHeight;
        return [...box.querySelectorAll('.round')].filter(r => r.getBoundingClientRect().bottom + 8 < low).length; }""")
    page.evaluate(f"{VIEW}.set({{round: {last - 1}}})")
    assert last > 1 and page.eval_on_selector(".tv-stream", "e => e.scrollTop") == 0


@pytest.mark.parametrize("run", ["sky", "sampled", "code", "split-characters"])
def test_no_outline_goes_around_nothing(visit, run):
    page = show(visit, run, "&round=1")
    empty = """() => [...document.querySelectorAll('.tv-stream .round')].filter(e => { const all = [...e.getClientRects()];
        return !all.every(r => all.some(other => other.width > 2 && Math.abs(other.top - r.top) < 10)); }).map(e => e.dataset.round)"""
    for width in range(390, 1441, 50):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(empty) == [], width


def test_a_piece_of_a_character_is_its_bytes(visit):
    page = show(visit, "split-characters", "&round=3")
    assert page.text_content(".tv-stream .round.now") == "⟨AE⟩"
    assert "⟨" not in page.text_content(".tv-stream .round[data-round='3']"), "the last piece brings the character"


INKLESS = ["\u3000", "\u2003", "\u3164", "\ufe0f", "\ufeff", "\xad", "\u2800", " same", "\u202e", " same", "\U000e0041", "\u200d", "\ue000"]


def test_what_has_no_ink_is_named_and_equal_texts_have_their_ids(visit, folder):
    page, path = visit.open(), folder / "inkless.jsonl"
    make_trace(words=INKLESS, prompt=(0, 1, 2, 3, 4), rounds=5, top_k=4, depth=2, total_tokens=12).save(path)
    page.set_input_files("input[type=file]", str(path))
    page.wait_for_function(f"{VIEW}.data.rounds === 5")
    page.evaluate(SETTLE)
    blank = r"""e => { const unseen = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/u;
        return [...e.querySelectorAll('.tv-stream .piece, .tv-stream .prompt bdi, .tv-tree text')].map(part => part.textContent)
            .filter(text => unseen.test(text)); }"""  # the browser's own tables
    for _ in range(5):
        assert page.eval_on_selector(".tv", blank) == []
        page.keyboard.press("]")
    assert "⟨U+3000⟩⟨U+2003⟩⟨U+3164⟩⟨U+FE0F⟩⟨U+FEFF⟩" in page.text_content(".tv-stream .prompt")
    same = page.eval_on_selector_all(".tv-stream .piece", "all => all.filter(e => e.textContent === ' same').map(e => e.title)")
    assert {title.partition("(id ")[2] for title in same} == {"7)", "9)"}


# -- the tables --------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("width, language, sidebar", [(1440, "en", False), (1440, "en", True), (1440, "zh", True), (1024, "en", False),
                                                     (1024, "zh", False), (390, "en", False)])
def test_tables_fit_their_panel(visit, width, language, sidebar):
    page = show(visit, "sampled", f"&lang={language}&panel=rows", width=width, height=800)
    if sidebar:
        open_sidebar(page, {"en": "Decode", "zh": "解码"}[language])
        page.wait_for_function("document.querySelector('.sidebar').classList.contains('open')")
    for panel in ("rows", "draws", "paths"):
        page.evaluate(f"{VIEW}.set({{panel: '{panel}'}})")
        for i in range(now(page)["rounds"]):
            page.evaluate(f"{VIEW}.set({{round: {i}, frame: 1e6}})")
            spare = 12 if panel == "rows" else 0  # for a scrollbar, which is hidden here
            assert page.eval_on_selector("table", "e => { e.style.width = 'auto'; return e.offsetWidth - e.parentNode.clientWidth; }") <= -spare, (panel, i)
            assert page.eval_on_selector(".tv-table", "e => e.scrollWidth <= e.clientWidth")
        page.evaluate(SETTLE)
        assert page.eval_on_selector(".tv-caption", "e => e.scrollHeight <= e.clientHeight"), panel
    tabs = page.locator(".tv-tabs").bounding_box()
    for tab in page.locator(".tv-tabs .tab").all():
        assert tab.bounding_box()["y"] + tab.bounding_box()["height"] <= tabs["y"] + tabs["height"] + 1


# -- the keys ----------------------------------------------------------------------------------------------------------

def test_escape_closes_the_menu_and_nothing_else(visit):
    page = visit.open()
    page.locator(".tv-tree .n.s-k").first.click()
    before = now(page)["pin"]
    page.click(".tv-menu summary")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    assert not page.is_visible(".tv-menu .list") and page.evaluate("document.activeElement.localName") == "summary"
    assert now(page)["pin"] == before is not None
    page.keyboard.press("Escape")
    assert now(page)["pin"] is None


def test_space_plays_after_a_click_and_pins_for_the_keyboard(visit):
    page = visit.open()
    page.locator(".tv-tree .n.s-k").first.click()
    page.keyboard.press("Escape")
    page.keyboard.press(" ")
    assert now(page)["pin"] is None and page.evaluate(f"{VIEW}.state.playing")
    page.keyboard.press(" ")
    assert not page.evaluate(f"{VIEW}.state.playing")
    page.keyboard.press("Enter")
    assert now(page)["pin"] is not None
    page.keyboard.press("Escape")
    page.focus("[data-action=fit]")
    page.keyboard.press("Tab")
    page.keyboard.press(" ")
    assert now(page)["pin"] == 0 and not page.evaluate(f"{VIEW}.state.playing")


def test_arrows_go_between_the_tabs_for_the_keyboard(visit):
    page = visit.open()
    assert page.locator(".tv-tabs .tab[tabindex='0']").count() == 1
    page.focus("[data-action=order]")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.panel") == "mask"
    frame = now(page)["frame"]
    for key, panel in (("ArrowRight", "rows"), ("ArrowLeft", "mask"), ("ArrowLeft", "scores"), ("ArrowLeft", "cache"), ("ArrowRight", "scores")):
        page.keyboard.press(key)
        assert page.evaluate("[document.activeElement.dataset.panel, document.activeElement.tabIndex]") == [panel, 0]
        assert page.text_content(".tv-tabs .now") == page.text_content(f".tv-tabs [data-panel={panel}]") and now(page)["frame"] == frame
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.matches('.tab')"), "they are one stop"
    page.click(".tv-tabs [data-panel=mask]")
    page.keyboard.press("ArrowLeft")
    assert now(page)["frame"] == frame - 1, "after a click the arrows step"


def test_the_closed_sidebar_is_out_of_reach(visit):
    page = visit.open()
    page.wait_for_selector("[data-action=runs]")
    inside = "document.activeElement?.closest('.sidebar-content') !== null"
    for _ in range(12):
        page.keyboard.press("Tab")
        assert not page.evaluate(inside)
    open_sidebar(page)
    page.get_by_label("Prompt", exact=True).click()
    assert page.evaluate(inside)
    page.click("[data-action=runs]")
    page.wait_for_function("document.querySelector('.sidebar-content').inert")
    assert not page.evaluate(inside)
    assert page.evaluate("(e => { e.focus(); return e === document.activeElement; })(document.querySelector('.sidebar .toggle-button'))")


# -- the address -------------------------------------------------------------------------------------------------------

def test_a_link_put_into_the_open_page_is_followed(visit):
    page = show(visit, "sky-small")
    page.evaluate("location.hash = 'run=sky-small&round=3&frame=2&panel=paths'")
    page.wait_for_function(f"{VIEW}.state.round === 2")
    assert now(page)["frame"] == 1 and page.locator(".tv-tabs .now[data-panel=paths]").count() == 1
    assert page.locator(".tv-bars .bar.now").get_attribute("data-bar") == "2"
    page.evaluate("location.hash = 'run=storybook&round=10&frame=14&lang=zh'")
    shown(page, "storybook")
    assert (now(page)["round"], now(page)["frame"]) == (9, 13) and page.text_content("[data-action=present]") == "演示"
    assert page.locator(".tv-stream .round.now").count() == 1 and page.evaluate(SEEN)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("location.hash.includes('frame=13')")
    page.wait_for_timeout(400)
    assert (now(page)["round"], now(page)["frame"]) == (9, 12), "what the page writes itself moves nothing"


def test_another_run_takes_over_the_address(visit, folder):
    page = show(visit, "sky-small", "&round=3&frame=2")
    path = folder / "other.jsonl"
    make_trace(rounds=2, top_k=3, depth=2, total_tokens=8).save(path)
    page.set_input_files("input[type=file]", str(path))
    page.wait_for_function(f"{VIEW}.data.rounds === 2 && !location.hash.includes('sky')")
    assert now(page)["kind"] == "accept"


@pytest.mark.parametrize("run, language, words", [("sky-small", "en", "Link copied"), ("sky-small", "zh", "已复制链接"), (None, "en", "only this page"),
                                                  (None, "zh", "只在本页")])
def test_copy_link_says_what_the_link_can_do(visit, folder, run, language, words):
    page = show(visit, "sky-small", f"&lang={language}", permissions=["clipboard-read", "clipboard-write"])
    if run is None:
        path = folder / "unnamed.jsonl"
        make_trace(rounds=2, top_k=3, depth=2, total_tokens=8).save(path)
        page.set_input_files("input[type=file]", str(path))
        page.wait_for_function(f"{VIEW}.data.rounds === 2")
    page.click(".tv-menu summary")
    page.click("[data-action=link]")
    page.wait_for_selector(".tv-toast:visible")
    assert words in page.text_content(".tv-toast")
    assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_the_first_line_speaks_of_taps_where_there_are_fingers_and_of_keys_where_there_are_keys(visit):
    phone = visit.open(width=390, height=844, has_touch=True, is_mobile=True)
    told = phone.text_content(".tv-intro")
    assert "Tap" in told and "keys" not in told
    assert phone.eval_on_selector_all(".tv-intro kbd", "all => all.map(e => e.textContent)") == ["⟩", "⟨"]
    desk = visit.open()
    assert "keys" in desk.text_content(".tv-intro") and "Tap" not in desk.text_content(".tv-intro")
