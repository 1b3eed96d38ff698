"""What goes on paper: the round as a hand-out, whole, in one column, upright and across."""

import re

import pytest

from tests.browser.page import now

pytestmark = pytest.mark.timeout(120)

A4 = {"upright": (703, 1032), "across": (1032, 703)}  # in pixels, without the margins of 12 mm
BOXES = """() => [...document.querySelectorAll('.tv-handout > *')].map(e => {
  const r = e.getBoundingClientRect();
  return {name: e.className || e.localName, left: r.left, right: r.right, top: r.top, bottom: r.bottom,
          height: r.height};
})"""
OUTSIDE = """name => {
  const svg = document.querySelector(`.tv-handout .${name} svg`), all = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(e => {
    if (e.getAttribute('visibility') === 'hidden' || !e.textContent.trim()) return false;
    const r = e.getBoundingClientRect();
    return r.left < all.left - 1 || r.right > all.right + 1 || r.top < all.top - 1 || r.bottom > all.bottom + 1;
  }).map(e => e.textContent);
}"""


def opened(visit, run, kind="accept", **settings):
    page = visit.open(f"#run={run}&round=2", **settings)
    page.wait_for_function(f"document.querySelector('.tv').treeviz.data.header.page.name === '{run}'")
    page.eval_on_selector(".tv", "(e, kind) => e.treeviz.set({frame: e.treeviz.frameOf(kind)})", kind)
    return page


def on_paper(page, way):
    page.set_viewport_size(dict(zip(("width", "height"), A4[way])))
    page.emulate_media(media="print", reduced_motion="reduce")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")


def bare(text):
    """A box's word without its sign, what is cut of it, and how many are folded under it."""
    return re.sub(r"^[✓×✕▸+] | \+\d+$|…$", "", re.sub(r" \+\d+$", "", text))


@pytest.mark.parametrize("way", A4)
@pytest.mark.parametrize("run", ["sky-small", "sky", "deep"])
def test_everything_of_the_round_is_on_the_sheet(visit, run, way):
    page = opened(visit, run)
    said = page.text_content(".tv-say [data-ref=say]")
    words = page.eval_on_selector_all(".tv-tree .n:not(.s-none) .label", "all => all.map(e => e.textContent)")
    rows = page.eval_on_selector(".tv", "e => e.treeviz.model.raw.tree.mask.length")
    on_paper(page, way)
    width, height = A4[way]
    boxes = page.evaluate(BOXES)
    assert [box["name"] for box in boxes] == ["header", "text", "say", "tree", "mask", "paths", "code"]
    assert all(box["left"] >= 0 and box["right"] <= width + 1 for box in boxes), "nothing is cut at the side"
    assert all(a["bottom"] <= b["top"] + 1 for a, b in zip(boxes, boxes[1:])), "one column, nothing over anything"
    whole = [box["height"] for box in boxes if box["name"] in ("say", "tree", "mask")]
    assert max(whole) <= height, "each fits one sheet"
    assert page.text_content(".tv-handout .say p") == said
    drawn = page.eval_on_selector_all(".tv-handout .tree svg text", "all => all.map(e => e.textContent)")
    printed = {bare(text) for text in drawn}
    lost = [word for word in words if word and not any(text.startswith(bare(word)) for text in printed)]
    assert not lost and not any(re.search(r" \+\d+$", text) for text in drawn), "the whole tree, and nothing folded"
    assert page.evaluate(OUTSIDE, "tree") == [] and page.evaluate(OUTSIDE, "mask") == []
    assert page.locator(".tv-handout .mask svg rect").count() == 2 + rows * (rows + 1) // 2
    paths = page.eval_on_selector(".tv", "e => e.treeviz.model.raw.tree.retrieve_indices.length")
    assert page.locator(".tv-handout .paths tbody tr").count() == paths


def test_no_control_is_printed_and_the_screen_is_as_before(visit):
    page = opened(visit, "sky-small", theme="dark")
    words = "[...document.querySelectorAll('.tv-tree text')].map(e => e.textContent).sort().join()"
    before, html = now(page), page.evaluate(words)
    on_paper(page, "upright")
    assert page.locator("button:visible, summary:visible, footer:visible, .tab-wrapper:visible").count() == 0
    assert page.locator(".tv.dark").count() == 0
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    assert page.eval_on_selector(".tv-handout .tree svg > rect", "e => e.getAttribute('fill')") == "#ffffff"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen", reduced_motion="reduce")
    page.set_viewport_size({"width": 1440, "height": 1000})
    assert page.locator(".tv-handout").count() == 0 and page.locator(".tv.dark").count() == 1
    page.wait_for_function(f"html => {words} === html", arg=html)
    assert now(page) == before


def test_a_pinned_token_goes_along(visit):
    page = opened(visit, "sky-small")
    page.eval_on_selector(".tv", "e => e.treeviz.set({pin: e.treeviz.model.bonus})")
    page.wait_for_function("document.querySelector('.tv-details').textContent.includes('intricate')")
    told = page.text_content(".tv-details .inner")
    on_paper(page, "upright")
    assert page.text_content(".tv-handout .details").strip() == told.strip()


@pytest.mark.parametrize("across", [False, True])
def test_the_browser_s_own_printing_asks_for_it(visit, across):
    page = opened(visit, "sky-small")
    page.evaluate("""addEventListener('beforeprint', () => {
      window.printed = document.querySelectorAll('.tv-handout').length;
    })""")
    pdf = page.pdf(format="A4", landscape=across)
    assert page.evaluate("window.printed") == 1 and page.locator(".tv-handout").count() == 0
    wide, high = map(float, re.search(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)", pdf).groups())
    assert (wide > high) == across, "the sheet lies as the printer was told"


def test_the_menu_prints(visit):
    page = opened(visit, "sky-small")
    page.evaluate("window.print = () => { window.asked = true; }")
    page.click(".tv-menu summary")
    page.click("[data-action=print]")
    assert page.evaluate("window.asked")
