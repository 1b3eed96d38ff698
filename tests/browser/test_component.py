"""A view is a component: two of them in one page do not touch each other, they own nothing of it, and one that goes leaves
nothing behind. The page is blank: no gradio, no server, no shell."""

import pytest

from tests.browser.blank import COUNT
from tests.trace_maker import make_trace
from treeviz.story.lines import page_lines

pytestmark = pytest.mark.timeout(170)
MOUNT = """async traces => {
  const {view} = await import('/view/view.js'), boxes = document.querySelectorAll('.box');
  const said = Object.fromEntries(Object.entries(words).map(([code, file]) => [code, file.view]));
  globalThis.views = traces.map((trace, i) => view(boxes[i], trace, {words: said, state: {lang: i ? 'zh' : 'en'}}));
}"""
STATES = "views.map(v => ({...v.state, ...v.tree.zoom, model: v.model.index}))"
AROUND = """[location.href, document.title, document.body.className, document.documentElement.getAttribute('style'),
  document.documentElement.lang, history.length, Object.keys(globalThis).sort().join()]"""


def traces():
    return [page_lines(make_trace(rounds=3)), page_lines(make_trace(rounds=4, temperature=1.0))]


@pytest.fixture
def page(blank):
    page = blank.open()
    page.evaluate("globalThis.views = null")
    page.around = page.evaluate(AROUND)
    page.evaluate(MOUNT, traces())
    page.wait_for_function("views.every(v => v.panels.width && v.tree.nodes.size)")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")  # sizes are told, and drawn
    return page


def in_box(page, i, what):
    return page.locator(f".box >> nth={i} >> {what}")


@pytest.mark.parametrize("one", [0, 1])
def test_two_views_step_hover_pin_and_zoom_apart(page, one):
    other = 1 - one
    still = page.evaluate(STATES)[other]
    html = in_box(page, other, ".tv").inner_html()
    seen = []

    def changed(*names):
        states = page.evaluate(STATES)
        assert states[other] == still, "the other one has moved"
        seen.append(states[one])
        assert {name for name in seen[-1] if seen[-1][name] != seen[-2][name]} >= set(names)

    seen.append(page.evaluate(STATES)[one])
    in_box(page, one, "[data-action=previous]").click()
    changed("frame")
    in_box(page, one, ".bar >> nth=2").click()
    changed("round", "model")
    in_box(page, one, ".tv-tree .n.s-R").hover()
    changed("hover")
    in_box(page, one, ".tv-tree .n.s-R").click()
    changed("pin")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    changed("k")
    in_box(page, one, "[data-panel=rows]").click()
    changed("panel")
    in_box(page, one, "[data-action=play]").click()
    changed("playing")
    page.wait_for_function(f"views[{one}].state.frame !== {seen[-1]['frame']}", timeout=5000)
    changed()
    page.evaluate(f"views[{one}].set({{playing: false}})")
    page.mouse.move(0, 0)
    assert in_box(page, other, ".tv").inner_html() == html, "the other one was drawn anew"


def test_a_view_owns_nothing_of_the_page(page, blank):
    before = page.evaluate(STATES)
    for key in ("ArrowRight", "]", " ", "p", "t", "?", "Escape"):
        page.keyboard.press(key)
    assert page.evaluate(STATES) == before, "it hears no keys"
    page.evaluate("views[0].set({present: true, lang: 'zh', round: 1, pin: 0})")
    page.evaluate("views[1].theme(true)")
    page.wait_for_timeout(400)
    assert page.evaluate(AROUND) == page.around
    assert page.locator("body > *").count() == 2, "nothing stands outside of its box"
    assert page.locator(".tv.dark").count() == page.locator(".tv.present").count() == 1


def test_a_view_that_goes_leaves_nothing_behind(blank):
    page = blank.open()
    page.wait_for_function("globalThis.views = []")  # and what listens for the test itself is there
    page.evaluate(COUNT)
    around, nothing = page.evaluate(AROUND), page.evaluate("({...open})")
    page.evaluate(MOUNT, traces()[:1])
    page.wait_for_function("views[0].tree.nodes.size")
    page.evaluate("views[0].set({panel: 'draws', frame: 0, playing: true})")
    there = page.evaluate("(views[0].set({frame: 1}), {...open})")  # at once: what waits for a painting does not wait long
    assert there["listeners"] > nothing["listeners"] + 30 and there["observers"] >= nothing["observers"] + 3
    assert there["timers"] >= nothing["timers"] + 2, "it plays, and will draw"
    page.evaluate("views[0].destroy()")
    assert page.evaluate("({...open})") == nothing
    assert page.locator(".box >> nth=0").inner_html() == "" and page.evaluate(AROUND) == around
    page.evaluate("views[0].set({playing: true, frame: 3})")  # whoever still holds it wakes nothing up
    assert page.evaluate("({...open})") == nothing


def test_every_word_that_is_asked_for_is_there(page):
    """In every frame and panel of greedy and sampled rounds, in both languages, with a node looked at or none."""
    page.evaluate("""() => {
      globalThis.lacking = new Set();
      const {prototype} = views[0].words.constructor, {say} = prototype;
      prototype.say = function (key, values) {
        const said = say.call(this, key, values);
        if (!said || /\\{\\w+\\}/.test(said)) lacking.add(`${key}: ${said}`);
        return said;
      };
    }""")
    page.evaluate("""() => {
      for (const v of views) for (const lang of v.words.codes) for (let round = 0; round < v.data.rounds; round++) {
        v.set({lang, round, frame: 0, panel: null});
        do for (const panel of ['scores', 'mask', 'rows', 'paths', 'draws', 'cache']) {
          v.set({panel});
          for (const hover of [null, 0, 1, v.model.bonus, ...v.model.raw.tree.candidate.slice(-2)]) {
            v.set({hover});
            v.life.stop('after');
            v.settled();
          }
        } while (v.state.frame < v.model.frames.length - 1 && v.step(1));
      }
    }""")
    assert page.evaluate("[...lacking]") == []


def test_the_one_that_stays_goes_on(page):
    page.evaluate("views[0].destroy()")
    frame = page.evaluate("views[1].state.frame")
    in_box(page, 1, "[data-action=previous]").click()
    assert page.evaluate("views[1].state.frame") == frame - 1
    in_box(page, 1, ".tv-tree .n.s-R").hover()
    assert page.evaluate("views[1].state.hover") == 0 and in_box(page, 1, ".tv-details h2").text_content()
