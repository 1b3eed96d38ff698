"""A view is a component: two of them in one page do not touch each other, and one that goes leaves nothing behind."""

import json

import pytest

from tests.trace_maker import make_trace
from treeviz.story.lines import page_lines

pytestmark = pytest.mark.timeout(170)

# Counts what is listened to and observed, and not let go of.
COUNT = """() => {
  const open = globalThis.open = {listeners: 0, observers: 0};
  const add = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, heard, options) {
    open.listeners++;
    options?.signal && add.call(options.signal, 'abort', () => { open.listeners--; }, {once: true});
    return add.call(this, type, heard, options);
  };
  const remove = EventTarget.prototype.removeEventListener;
  EventTarget.prototype.removeEventListener = function (...of) { open.listeners--; return remove.apply(this, of); };
  for (const name of ['ResizeObserver', 'MutationObserver', 'IntersectionObserver']) {
    const {observe, disconnect} = globalThis[name].prototype;
    globalThis[name].prototype.observe = function (...of) { open.observers++; return observe.apply(this, of); };
    globalThis[name].prototype.disconnect = function () { open.observers--; return disconnect.call(this); };
  }
}"""
MOUNT = """async ([traces]) => {
  const base = new URL('treeviz/assets/', document.baseURI), {view} = await import(new URL('view/view.js', base));
  const words = {en: (await (await fetch(new URL('words/en.json', base))).json()).view};
  const style = document.createElement('style');
  style.textContent = '.box { width: 700px; }';
  document.body.append(style);
  globalThis.views = traces.map(trace => {
    const box = document.createElement('div');
    box.className = 'box';
    document.body.append(box);
    return view(box, trace, {words});
  });
}"""
STATES = "() => views.map(v => ({round: v.state.round, frame: v.state.frame, pin: v.state.pin, hover: v.state.hover, k: v.tree.zoom.k}))"


def test_two_views_in_one_page_step_hover_pin_and_zoom_apart(visit):
    page = visit.open()
    page.evaluate(MOUNT, [[page_lines(make_trace(rounds=3)), page_lines(make_trace(rounds=4, temperature=1.0))]])
    first, second = page.evaluate(STATES)
    page.evaluate("views[0].step(1), views[0].toRound(2)")
    page.evaluate("views[0].pin(1), views[0].tree.scale(1.5)")
    stepped, still = page.evaluate(STATES)
    assert still == second and stepped["round"] == 2 and stepped["pin"] == 1 and stepped["k"] > first["k"]
    node = page.locator(".box >> nth=1 >> .tv-tree .n").first
    node.hover()
    hovered, second = page.evaluate(STATES)[0], page.evaluate(STATES)[1]
    assert hovered == stepped and second["hover"] == 0
    page.locator(".box >> nth=1 >> [data-action=next]").click()
    assert page.evaluate(STATES)[0] == stepped and page.evaluate(STATES)[1]["frame"] != still["frame"]
    page.keyboard.press("ArrowRight")  # the page's own view hears keys; these two have no shell
    assert page.evaluate(STATES)[0] == stepped and page.evaluate("document.body.className").find("tv-present") < 0
    page.wait_for_timeout(400)
    assert "round=1" in page.evaluate("location.hash"), "the address is that of the view with a shell"
    assert not visit.complaints, visit.complaints


def test_a_view_that_goes_leaves_nothing_behind(visit):
    page = visit.open()
    page.evaluate(COUNT)
    nothing = page.evaluate("open")
    page.evaluate(MOUNT, [[page_lines(make_trace(rounds=3))]])
    page.evaluate("views[0].set({playing: true})")
    there = page.evaluate("open")
    assert there["listeners"] > nothing["listeners"] + 20 and there["observers"] > nothing["observers"]
    own = page.evaluate("""() => {
      const buttons = document.querySelectorAll('.box button').length;
      views[0].destroy();
      return {buttons, left: document.querySelectorAll('.box .tv').length};
    }""")
    page.wait_for_timeout(2000)  # nothing plays on
    left = page.evaluate("open")
    assert own["left"] == 0 and left["observers"] == nothing["observers"], json.dumps([nothing, there, left])
    # what is on an element of its own goes with it: the buttons
    assert left["listeners"] - nothing["listeners"] <= own["buttons"], json.dumps([nothing, there, left, own])
    assert not visit.complaints, visit.complaints
