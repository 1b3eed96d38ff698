"""The page in a real browser: stepping, linking, pinning, links, hostile tokens, phones, live decoding."""

import re
from pathlib import Path

import pytest

from core.trace import Trace
from tests.trace_maker import make_trace

pytestmark = pytest.mark.timeout(170)
HOSTILE = ["${7*7}", "{{7*7}}", "`", "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "\n", "\x00", "\\u0041",
           "\u202eabc", "\u05e9\u05dc\u05d5\u05dd", b"\xf0\x9f", b"\x98\x80", "<|im_end|>", " ", "\t", "&lt;", "'\"", "中文", "a" * 60, "", "\ufffe", "\uffff\ufdd0"]


def now(page):
    return page.eval_on_selector(".tv", "e => { const v = e.treeviz, s = v.state; return {round: s.round, frame: s.frame, kind: "
                                 "v.frame.kind, pin: s.pin, hover: s.hover, rounds: v.data.rounds}; }")


def sentence(page):
    return page.text_content(".tv-say")


def test_opens_on_a_recorded_run_without_torch(visit, server):
    page = visit.open()
    assert now(page)["kind"] == "accept" and now(page)["rounds"] == 4
    assert "the target" in sentence(page)
    assert page.text_content(".tv-stream .prompt")
    assert page.is_visible(".tv-intro")
    page.keyboard.press("ArrowRight")
    assert not page.is_visible(".tv-intro")
    page.keyboard.press("ArrowLeft")
    assert page.text_content(".tv-file").startswith("core/verify.py")
    maps = Path(f"/proc/{server[1].pid}/maps")
    if maps.exists():
        assert "libtorch" not in maps.read_text()


def test_steps_every_frame_there_and_back(visit):
    page = visit.open()
    page.keyboard.press("Home")
    frames = page.locator(".tv-strip .chip").count()
    assert frames == 2 * 4 - 1 + 6
    seen = []
    for i in range(frames):
        assert now(page)["frame"] == i and page.locator(".tv-strip .chip.now").count() == 1
        seen.append(sentence(page))
        page.keyboard.press("ArrowRight") if i % 2 else page.click("[data-action=next]")
    assert len(set(seen)) == frames, "every frame has a sentence of its own"
    assert now(page)["round"] == 1 and now(page)["frame"] == 0
    for i in reversed(range(frames)):
        page.keyboard.press("ArrowLeft") if i % 2 else page.click("[data-action=previous]")
        assert now(page)["frame"] == i and sentence(page) == seen[i]


def test_tree_grows_and_shows_every_state(visit):
    page = visit.open()
    page.keyboard.press("Home")
    shown = []
    for _ in range(page.locator(".tv-strip .chip").count()):
        shown.append(page.locator(".tv-tree .n:not(.s-none)").count())
        page.keyboard.press("ArrowRight")
    assert shown[0] == 1 and shown == sorted(shown)
    page.keyboard.press("ArrowLeft")
    assert page.locator(".tv-tree .n.s-R").count() == 1 and page.locator(".tv-tree .n.s-b").count() == 1
    assert page.locator(".tv-tree .n.s-a").count() == 3


def test_hover_links_the_views(visit):
    page = visit.open()
    page.keyboard.press("End")  # commit
    page.keyboard.press("ArrowLeft")
    node = page.locator(".tv-tree .n.s-a").first
    node.hover()
    id = int(node.get_attribute("data-node"))
    assert now(page)["hover"] == id
    assert "me" in node.get_attribute("class")
    assert page.locator(".tv-stream .piece.me").count() == 1
    label = page.eval_on_selector(".tv", f"e => e.treeviz.model.label({id})")
    assert label in page.text_content(".tv-details h2")
    assert page.get_attribute(".tv-canvas", "data-row") == str(page.eval_on_selector(".tv", f"e => e.treeviz.model.rowOf.get({id})"))
    page.hover(".tv-canvas", position={"x": 200, "y": 120})  # and from the mask to the tree
    row = now(page)["hover"]
    assert page.locator(f".tv-tree .n.me[data-node='{row}']").count() == 1
    assert "may" in page.text_content(".tv-caption")
    page.hover(".tv-say .tok >> nth=1")
    assert now(page)["hover"] is not None
    page.hover(".tv-head h1")
    assert now(page)["hover"] is None


def test_a_thin_candidate_shows_itself_while_looked_at(visit):
    page = visit.open()
    page.click(".tv-tabs [data-panel=scores]")
    page.hover(".tv-canvas", position={"x": 330, "y": 200})
    hovered = now(page)["hover"]
    assert page.locator(f".tv-tree .ghost[data-node='{hovered}']").count() == 1
    page.hover(".tv-head h1")
    assert page.locator(".tv-tree .ghost").count() == 0


def test_a_fan_opens_where_its_parent_is_pinned(visit):
    page = visit.open()
    parent, thin = page.eval_on_selector(".tv", """e => { const m = e.treeviz.model, all = [...m.children];
        const [parent, children] = all.find(([id, ids]) => m.isBox(id) && ids.filter(i => !m.isBox(i)).length > 1);
        return [parent, children.filter(i => !m.isBox(i))]; }""")
    page.eval_on_selector(".tv", f"e => {{ e.treeviz.pin({parent}); e.treeviz.tree.reveal({parent}); }}")
    shown = page.eval_on_selector_all(".tv-tree .ghost", "all => all.map(g => Number(g.dataset.node))")
    assert shown == thin
    page.locator(f".tv-tree .ghost[data-node='{thin[1]}']").click()
    assert now(page)["pin"] == thin[1] and page.locator(".tv-tree .ghost").count() == len(thin), "it stays open"
    page.keyboard.press("Escape")
    assert page.locator(".tv-tree .ghost").count() == 0


def test_the_mask_in_tree_order(visit):
    page = visit.open()
    page.click(".tv-tabs [data-panel=mask]")
    hint = page.text_content(".tv-caption")
    page.click("[data-action=order]")
    page.wait_for_function("document.querySelector('.tv-caption').textContent.includes('depth first')")
    assert page.text_content(".tv-caption") != hint
    parents, rows = page.eval_on_selector(".tv", "e => [e.treeviz.model.raw.tree.parent, e.treeviz.panels.order.rows]")
    assert sorted(rows) == list(range(len(parents))) and rows != sorted(rows)
    for row in rows[1:]:  # depth first: a row's parent is among the ancestors of the row that was shown before it
        above = rows[rows.index(row) - 1]
        while above != parents[row]:
            assert above > 0
            above = parents[above]
    page.hover(".tv-canvas", position={"x": 110, "y": 200})
    hovered = page.get_attribute(".tv-canvas", "data-row")
    assert hovered and page.locator(f".tv-tree .n.me[data-node='{page.eval_on_selector('.tv', f'e => e.treeviz.model.raw.tree.candidate[{hovered}]')}']").count() == 1
    page.wait_for_function("location.hash.includes('order=tree')")


def test_keys_walk_along_the_tree(visit):
    page = visit.open()
    page.keyboard.press("ArrowDown")
    assert now(page)["pin"] == 0
    page.keyboard.press("Alt+ArrowRight")
    child = now(page)["pin"]
    assert page.eval_on_selector(".tv", f"e => e.treeviz.model.parent[{child}]") == 0
    page.keyboard.press("ArrowDown")
    assert now(page)["pin"] not in (0, child)
    page.keyboard.press("Alt+ArrowLeft")
    assert now(page)["pin"] == 0
    assert page.get_attribute(".tv-tree", "role") == "tree" and page.locator(".tv-tree [role=treeitem]").count() > 10


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


def test_click_pins_and_escape_clears(visit):
    page = visit.open()
    node = page.locator(".tv-tree .n.s-k").first
    id = int(node.get_attribute("data-node"))
    node.click()
    page.hover(".tv-head h1")
    assert now(page)["pin"] == id and "kept" in page.text_content(".tv-details")
    page.keyboard.press("Escape")
    assert now(page)["pin"] is None


def test_tokens_and_bars_jump_to_their_round(visit):
    page = visit.open()
    page.click(".tv-stream .piece[data-round='2'] >> nth=0")
    assert now(page)["round"] == 2 and now(page)["pin"] is not None
    page.click(".tv-bars .bar >> nth=3")
    assert now(page)["round"] == 3
    page.keyboard.press("[")
    assert now(page)["round"] == 2
    page.keyboard.press("]")
    page.keyboard.press("]")
    assert now(page)["round"] == 3, "the last round is the last"


def test_play_help_and_language(visit):
    page = visit.open()
    page.keyboard.press("Home")
    page.click("[data-action=speed]")
    page.click("[data-action=speed]")
    page.click(".tv-head h1")
    page.keyboard.press(" ")
    page.wait_for_function("document.querySelector('.tv').treeviz.state.frame >= 2")
    page.keyboard.press(" ")
    page.keyboard.press("?")
    assert page.is_visible(".tv-help")
    page.keyboard.press("Escape")
    assert not page.is_visible(".tv-help")
    page.click("[data-action=lang]")
    assert re.search("[\u4e00-\u9fff]", sentence(page)) and "根" in page.text_content(".tv-strip")


def test_link_restores_the_view(visit):
    page = visit.open()
    page.keyboard.press("]")
    page.keyboard.press("ArrowLeft")
    page.locator(".tv-tree .n.s-k").nth(2).click()
    before = now(page)
    page.wait_for_function("location.hash.includes('pin')")
    again = visit.open(page.evaluate("location.hash"))
    assert {**now(again), "hover": None} == {**before, "hover": None}


@pytest.mark.parametrize("language", ["constructor", "__proto__", "xx"])
def test_a_link_with_an_unknown_language_opens_in_english(visit, language):
    page = visit.open(f"#lang={language}")
    assert page.text_content("[data-action=present]") == "Present" and sentence(page)


def test_every_panel(visit):
    page = visit.open()
    for name in ("rows", "paths", "cache", "scores", "mask"):
        page.click(f".tv-tabs [data-panel={name}]")
        assert page.locator(f".tv-tabs .now[data-panel={name}]").count() == 1
        assert page.text_content(".tv-caption")
    page.click(".tv-tabs [data-panel=rows]")
    page.hover("table.rows tbody tr >> nth=3")
    assert page.locator(".tv-tree .n.me").count() == 1


def test_hostile_tokens_stay_text(visit, folder):
    page = visit.open()
    path = folder / "hostile.jsonl"
    make_trace(words=HOSTILE, rounds=5, top_k=4, depth=2, total_tokens=12).save(path)
    page.set_input_files("input[type=file]", str(path))
    page.wait_for_function("document.querySelector('.tv').treeviz.data.rounds === 5")
    for _ in range(5 * 12):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    for name in ("rows", "paths", "mask"):
        page.click(f".tv-tabs [data-panel={name}]")
    page.locator(".tv-tree .n.s-k").first.click()
    text = page.text_content(".tv-view, #tv-view")
    assert "49" not in page.text_content(".tv-stream").replace("${7*7}", "").replace("{{7*7}}", "")
    assert "${7*7}" in text or "{{7*7}}" in text
    assert page.locator(".tv img, .tv script").count() == 0
    assert page.locator(".tv-tree text", has_text="\x00").count() == 0
    assert page.eval_on_selector(".tv", "e => !new DOMParser().parseFromString(new XMLSerializer().serializeToString("
                                 "e.treeviz.ref.tree), 'image/svg+xml').querySelector('parsererror')"), "the picture is well-formed"


def test_a_very_deep_tree_opens(visit, folder):
    page = visit.open()
    path = folder / "deep.jsonl"
    make_trace(rounds=1, top_k=1, depth=1200, total_tokens=1201).save(path)
    page.set_input_files("input[type=file]", str(path))
    page.wait_for_function("document.querySelector('.tv').treeviz.data.rounds === 1", timeout=60000)
    assert page.locator(".tv-tree .n").count() == 1203
    assert page.eval_on_selector(".tv", "e => e.treeviz.model.depthFirst().length") == 1203
    page.click(".tv-menu summary")
    with page.expect_download() as download:
        page.click("[data-action=png]")
    download.value.save_as(folder / "deep.png")
    assert (folder / "deep.png").read_bytes()[:4] == b"\x89PNG", "as large as a canvas can be, and no larger"


def test_a_wrong_file_gets_a_sentence_and_the_run_stays(visit, folder):
    page = visit.open()
    bad = folder / "bad.json"
    bad.write_text('{"format": "eagle2-trace", "schema_version": 9, "rounds": []}')
    open_sidebar(page)
    page.set_input_files("input[type=file]", str(bad))
    page.wait_for_selector("#tv-opened .tv-message[data-kind=error]")
    assert "schema_version" in page.text_content("#tv-opened")
    assert now(page)["rounds"] == 4
    page.wait_for_function("(r => r.top >= 0 && r.bottom <= innerHeight + 1)(document.querySelector('#tv-opened').getBoundingClientRect())")


def test_save_gives_the_trace_back(visit, folder):
    page = visit.open()
    with page.expect_download() as download:
        page.evaluate("document.querySelector('.tv').treeviz.save()")
    path = folder / "saved.jsonl"
    download.value.save_as(path)
    assert Trace.load(path) == Trace.load(folder / "opening.json.gz")


def test_a_long_word_as_a_prompt_makes_no_long_file_name(visit, folder):
    page = visit.open()
    path = folder / "word.jsonl"
    make_trace(rounds=1, words=["\U00020000" * 300, *[f" w{i}" for i in range(14)]]).save(path)
    page.set_input_files("input[type=file]", str(path))
    page.wait_for_function("document.querySelector('.tv').treeviz.data.rounds === 1")
    with page.expect_download() as download:
        page.evaluate("document.querySelector('.tv').treeviz.save()")
    name = download.value.suggested_filename
    assert len(name) < 80 and name.endswith(".trace.jsonl") and set(name.split(".")[0]) <= set("\U00020000-w123")


def test_pictures_can_be_saved(visit, folder):
    page = visit.open()
    for name, ending in (("svg", ".svg"), ("png", ".png"), ("maskSvg", ".svg"), ("maskPng", ".png")):
        page.click(".tv-menu summary")
        with page.expect_download() as download:
            page.click(f"[data-action={name}]")
        path = folder / f"picture{name}{ending}"
        download.value.save_as(path)
        assert path.read_bytes()[:4] in (b"\x89PNG", b"<svg") and path.stat().st_size > 2000


@pytest.mark.parametrize("width", [390, 1024])
def test_no_sideways_scrolling(visit, width):
    page = visit.open(width=width, height=844, has_touch=width == 390)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    tree, say = (page.locator(name).bounding_box() for name in (".tv-treebox", ".tv-say"))
    assert (say["y"] + say["height"] <= tree["y"]) == (width == 390), "on a phone the sentence stands above the tree"
    if width == 390:  # a tap does what a hover does
        page.locator(".tv-tree .n.s-R").tap()
        assert now(page)["pin"] == 0
        assert page.locator("[data-action=next]").bounding_box()["height"] >= 40


def test_dark_theme(visit):
    page = visit.open(theme="dark")
    assert page.locator(".tv.dark").count() == 1
    light, dark = "rgb(255, 255, 255)", page.eval_on_selector(".tv-card", "e => getComputedStyle(e).backgroundColor")
    assert dark != light


def test_run_tab_has_charts(visit):
    page = visit.open()
    page.get_by_role("tab", name="The whole run").click()
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length === 4", timeout=40000)
    page.get_by_role("tab", name="Inside a round").click()
    page.wait_for_selector(".tv-tree .n")
    assert now(page)["rounds"] == 4


def open_sidebar(page, decode="Decode"):
    page.click("[data-action=runs]")
    page.wait_for_selector(f"button:has-text('{decode}'):visible >> nth=0")


def test_live_decoding_streams_stops_and_tells_errors(visit):
    page = visit.open()
    open_sidebar(page)
    page.get_by_role("button", name="Decode", exact=True).click()  # a chat, but this tokenizer has no template
    page.wait_for_selector("#tv-message [data-kind=error]", timeout=60000)
    assert "chat template" in page.text_content("#tv-message") and now(page)["rounds"] == 4, "the last good run stays"

    page.get_by_label("As a chat message").uncheck()
    page.get_by_label("Prompt", exact=True).fill("abcdefgh")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Sampling and length").click()
    page.get_by_label("number input for max_new_tokens").fill("1500")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Decode", exact=True).click()
    page.wait_for_function("!document.querySelector('.tv').treeviz.data.footer && document.querySelector('.tv').treeviz.data.rounds > 1")
    page.click(".tv-head h1")
    page.click(".tv-bars .bar >> nth=0")
    page.keyboard.press("Home")
    rounds = now(page)["rounds"]
    page.wait_for_function(f"document.querySelector('.tv').treeviz.data.rounds > {rounds}")
    assert now(page)["round"] == 0 and now(page)["frame"] == 0, "new rounds do not move what one looks at"
    page.get_by_role("button", name="Stop", exact=True).click()
    page.wait_for_selector("#tv-message [data-kind=ok]")
    assert page.evaluate("document.querySelector('.tv').treeviz.data.footer.output.finish_reason") == "cancelled"
    assert "stopped" in page.text_content(".tv-pills")


def chinese(page, *texts):
    """Waits until all of these are on the page."""
    for text in texts:
        page.wait_for_selector(f"text={text} >> nth=0", state="attached")


def test_the_page_follows_the_switch_and_keeps_what_was_typed(visit):
    page = visit.open()
    open_sidebar(page)
    english = page.inner_text(".sidebar")
    page.get_by_label("Prompt", exact=True).fill("abcdefgh")
    for fold in page.locator(".tv-form button.label-wrap").all():
        fold.click()
    page.get_by_label("seed").fill("-1")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Decode", exact=True).click()
    page.wait_for_selector("#tv-message [data-kind=error]", timeout=60000)
    assert page.text_content("#tv-message").strip().startswith("seed is -1; give")
    opened = page.inner_text(".sidebar")

    page.click("[data-action=lang]")
    chinese(page, "解码一个提示", "作为对话消息", "现成的树", "论文的", "采样与长度", "录制的运行", "打开轨迹", "走进一轮")
    assert page.text_content("#tv-message").strip().startswith("seed 为 -1；请填"), "also what was said before"
    assert page.get_by_label("draft_vocab").input_value() == "全部词元"
    assert "Ready" not in page.inner_text(".sidebar") and "runs" not in page.inner_text(".sidebar")
    assert page.get_by_label("提示", exact=True).input_value() == "abcdefgh"
    assert page.get_by_label("seed").input_value() == "-1" and now(page)["rounds"] == 4
    page.get_by_label("提示", exact=True).fill("  ")
    page.get_by_role("button", name="解码", exact=True).click()  # a number out of bounds is ours to answer, as before
    page.wait_for_function("document.querySelector('#tv-message').textContent.includes('提示是空的')")
    page.get_by_label("提示", exact=True).fill("abcdefgh")
    page.get_by_role("button", name="解码", exact=True).click()
    page.wait_for_function("document.querySelector('#tv-message').textContent.includes('seed 为 -1')")

    page.get_by_role("tab", name="整个运行").click()
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length === 4", timeout=40000)
    assert "每轮的词元" in page.text_content(".js-plotly-plot >> nth=0") and page.is_visible("text=接受长度")
    page.get_by_role("tab", name="走进一轮").click()
    page.click("[data-action=lang]")
    page.wait_for_selector("text=Decode a prompt")
    assert page.inner_text(".sidebar") == opened and page.get_by_label("Prompt", exact=True).input_value() == "abcdefgh"
    assert set(english.split("\n")) <= set(opened.split("\n"))


def test_a_chinese_browser_finds_a_chinese_page_and_may_switch_while_a_run_goes_on(visit):
    page = visit.open("#lang=zh")
    open_sidebar(page, "解码")
    page.get_by_label("作为对话消息").uncheck()
    page.get_by_label("提示", exact=True).fill("abcdefgh")
    page.get_by_role("button", name="采样与长度").click()
    page.get_by_label("number input for max_new_tokens").fill("1500")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="解码", exact=True).click()
    page.wait_for_function("!document.querySelector('.tv').treeviz.data.footer && document.querySelector('.tv').treeviz.data.rounds > 1")
    page.wait_for_selector("#tv-message :text('正在解码。')")
    page.click("[data-action=lang]")
    page.wait_for_selector("#tv-message :text('Decoding.')")
    rounds = now(page)["rounds"]
    page.wait_for_function(f"document.querySelector('.tv').treeviz.data.rounds > {rounds}")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.wait_for_selector("#tv-message [data-kind=ok]:text('Stopped.')")
    for _ in range(3):  # of quick switches the last counts
        page.click("[data-action=lang]")
    page.wait_for_selector("text=解码一个提示")
    page.wait_for_selector("#tv-message :text('已停止。')")
    assert page.get_by_label("number input for max_new_tokens").input_value() == "1500"
