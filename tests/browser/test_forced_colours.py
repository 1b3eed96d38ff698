"""Where the reader's system sets the colours, what is said by colour is still said."""

import pytest

pytestmark = pytest.mark.timeout(120)

LOOK = """name => [...document.querySelectorAll(name)].map(e => {
  const s = getComputedStyle(e);
  return [s.backgroundColor, s.borderTopColor, s.borderTopStyle, s.borderInlineStartWidth, s.outlineColor, s.color]
    .join(' ');
})"""
SYSTEM = """name => {
  const probe = document.querySelector('.tv').appendChild(document.createElement('i'));
  probe.style.color = name;
  const got = getComputedStyle(probe).color;
  probe.remove();
  return got;
}"""


@pytest.fixture(params=["light", "dark"])
def page(visit, request):
    page = visit.open("#run=sky-small&round=2", forced_colors="active", color_scheme=request.param)
    page.wait_for_function("document.querySelector('.tv').treeviz.data.header.page.name === 'sky-small'")
    page.eval_on_selector(".tv", "e => e.treeviz.set({frame: e.treeviz.frameOf('accept')})")
    assert page.evaluate("matchMedia('(forced-colors: active)').matches"), "the emulation is on"
    assert (page.locator(".tv.dark").count() == 1) == (request.param == "dark"), "the palette of the system's theme"
    return page


@pytest.mark.parametrize("all, now", [
    (".tv-strip .chip", ".tv-strip .chip.now"), (".tv-tabs .tab", ".tv-tabs .tab.now"),
    (".tv-bars .bar", ".tv-bars .bar.now"), (".tv-code .now .line", ".tv-code .now .mark")])
def test_where_one_is_is_marked_by_a_border(page, all, now):
    marked, everywhere = set(page.evaluate(LOOK, now)), page.evaluate(LOOK, all)
    others = set(page.evaluate(LOOK, f"{all}:not({now.split(' ')[-1].removeprefix(all.split(' ')[-1])})"))
    assert marked and others and len(everywhere) > 1
    assert not marked & others, "looks like the others"
    edge = "borderInlineStartColor" if "code" in now else "borderTopColor"
    assert page.eval_on_selector(now, f"e => getComputedStyle(e).{edge}") == page.evaluate(SYSTEM, "Highlight")


def test_swatches_of_the_legend_differ_from_each_other(page):
    looks = page.evaluate(LOOK, ".tv-legend .swatch")
    glyphs = page.eval_on_selector_all(".tv-legend .swatch", "all => all.map(e => e.textContent)")
    assert len(looks) >= 8 and len(set(looks)) == len(looks), list(zip(glyphs, looks))


def test_probabilities_and_bonus_caps_are_seen(page):
    canvas = page.evaluate(SYSTEM, "Canvas")
    for name in (".tv-probs .track i", ".tv-bars .plus"):
        shown = page.eval_on_selector_all(name, "all => all.map(e => getComputedStyle(e).backgroundColor)")
        assert shown and canvas not in shown, name
    assert len(set(page.eval_on_selector_all(".tv-probs .track i", "all => all.map(e => e.clientWidth)"))) > 1


def test_words_stand_out_from_what_they_stand_on(page):
    """In the tree, on the filled buttons and steps; no word in the colour of its own box."""
    filled = "all => all.map(e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor])"
    for name in (".tv .btn.runs", ".tv-strip .chip.now", ".tv-tabs .tab.now"):
        for word, ground in page.eval_on_selector_all(name, filled):
            assert word != ground, name
    boxes = page.eval_on_selector_all(
        ".tv-tree .n:is(.s-R, .s-a)",
        "all => all.map(e => ['.label', 'rect'].map(part => getComputedStyle(e.querySelector(part)).fill))")
    assert len(boxes) > 1 and all(word != ground for word, ground in boxes)
    states = page.eval_on_selector_all(
        ".tv-tree .n:is(.s-R, .s-a, .s-x, .s-k, .s-b) rect",
        "all => all.map(e => ['fill', 'stroke', 'strokeDasharray'].map(k => getComputedStyle(e)[k]).join(' '))")
    assert len(set(states)) >= 4, "each state has its own look"


def test_a_pinned_box_is_marked(page):
    page.eval_on_selector(".tv", "e => e.treeviz.set({pin: e.treeviz.model.bonus})")
    rect = page.locator(".tv-tree .n.pin rect")
    assert rect.evaluate("e => getComputedStyle(e).stroke") == page.evaluate(SYSTEM, "Highlight")
    assert float(rect.evaluate("e => parseFloat(getComputedStyle(e).strokeWidth)")) > 3
