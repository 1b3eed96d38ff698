"""The page in a real browser: opening, stepping, linking, pinning, links, hostile tokens."""

import re
from pathlib import Path

import pytest

from tests.browser.page import now, sentence, speak
from tests.trace_maker import make_trace

pytestmark = pytest.mark.timeout(170)
HOSTILE = ["${7*7}", "{{7*7}}", "`", "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "\n", "\x00", "\\u0041",
           "\u202eabc", "\u05e9\u05dc\u05d5\u05dd", b"\xf0\x9f", b"\x98\x80", "<|im_end|>", " ", "\t", "&lt;", "'\"", "中文", "a" * 60, "", "\ufffe", "\uffff\ufdd0"]


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
    speak(page, "zh")
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


TAKE = """() => { const v = document.querySelector('.tv').treeviz, r = v.ref;
  return [r.details, v.panels.table.hidden ? r.caption : v.panels.table, r.say, r.tabs].map(box => {
    const copy = box.cloneNode(true);
    copy.querySelectorAll('.none').forEach(each => each.remove());
    copy.querySelectorAll('[class=""]').forEach(each => each.removeAttribute('class'));
    return copy; }); }"""
ANEW = """() => { const v = document.querySelector('.tv').treeviz;
  for (const box of [v.ref.details, v.panels.table, v.ref.say, v.ref.tabs]) box.replaceChildren();
  v.details.key = null; v.draw('frame'); }"""
DIFFERENT = f"""() => {{ const now = ({TAKE})();
  return window.before.flatMap((box, i) => box.isEqualNode(now[i]) ? [] : [[box.outerHTML, now[i].outerHTML]]); }}"""


@pytest.mark.parametrize("run", ["sky-small", "sampled"])
def test_what_is_written_over_reads_as_if_made_anew(visit, run):
    page = visit.open(f"#run={run}")
    page.wait_for_function(f"document.querySelector('.tv').treeviz.data.header.page.name === '{run}'")
    settle = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    for panel in (None, "rows", "paths", "cache"):
        page.eval_on_selector(".tv", "(e, panel) => e.treeviz.set({round: 0, frame: 0, panel, pin: null})", panel)
        for _ in range(page.locator(".tv-strip .chip").count() + 3):
            page.keyboard.press("ArrowRight")
            page.evaluate(settle)
            page.evaluate(f"window.before = ({TAKE})()")
            page.evaluate(ANEW)
            page.evaluate(settle)
            assert page.evaluate(DIFFERENT) == [], now(page)
