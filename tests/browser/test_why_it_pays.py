"""The view that tells why it pays, or not: its charts lead to rounds, its sliders ask the trace, its race runs."""

from pathlib import Path

import pytest

from core import Trace
from core.measure.whatif import WhatIf
from tests.browser.blank import COUNT
from tests.trace_maker import make_trace
from treeviz.story.lines import page_lines

pytestmark = pytest.mark.timeout(170)
TRACES = Path(__file__).resolve().parents[2] / "assets/traces"
SMALL = Trace.load(TRACES / "sky-small.json.gz")
MOUNT = """async ([trace, cost]) => {
  const {Shell} = await import('/view/shell.js');
  const box = document.querySelector('.box');
  box.style.width = 'auto';
  const host = {ask: () => {}, around: () => {}, cost: cost && (async ({seconds}, told) => {
    if (!seconds) return null;
    told(0.5, '');
    await new Promise(resolve => { globalThis.finish = resolve; });
    return cost;
  })};
  globalThis.shell = new Shell(box, words, host);
  shell.view.read(trace, false);
}"""
WHY = "shell.views.why"
# Texts of the charts that reach out of their card, and pairs of cards that overlap.
OUTSIDE = """() => {
  const cards = [...document.querySelectorAll('.tv-why .tv-card:not([hidden])')], found = [];
  const box = node => node.getBoundingClientRect();
  for (const card of cards) {
    for (const text of card.querySelectorAll('svg text')) {
      const [a, b] = [box(text), box(card)];
      if (a.left < b.left || a.right > b.right + 1 || a.bottom > b.bottom) found.push(text.textContent);
    }
    for (const other of cards) if (other !== card) {
      const [a, b] = [box(card), box(other)];
      if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)
        found.push(card.dataset.card + ' over ' + other.dataset.card);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push('wider than the window');
  return found;
}"""


def show(blank, trace=SMALL, hash="#view=why", cost=None, **settings):
    page = blank.open(hash, **settings)
    page.evaluate(MOUNT, [page_lines(trace), cost])
    page.wait_for_selector(".tv-why .why-verdict .first")
    return page


def now(page):
    return page.evaluate("[shell.view.state.round, shell.view.state.look]")


def test_the_first_line_says_whether_it_paid(blank):
    page = show(blank)
    told = page.text_content(".why-verdict .first")
    assert told.startswith("0.") and "did not pay here" in told and page.locator(".first.poor").count() == 1
    page.evaluate("lines => shell.view.read(lines, false)", page_lines(make_trace(rounds=3)))
    assert page.text_content(".why-verdict .first").startswith("Whether it paid here is not known")
    page.evaluate("lines => shell.view.read(lines, false)", page_lines(make_trace(rounds=3, policy="plain")))
    assert page.text_content(".why-verdict .first").startswith("This is plain decoding")
    assert page.locator(".why-what, .why-lost").first.is_hidden()


def test_bars_lead_to_their_round_by_click_and_by_key(blank):
    page = show(blank)
    page.click(".why-lost [data-round='5'].lead rect")
    assert now(page) == [5, "why"] and page.text_content(".why-round h2") == "Round 6 of 27"
    page.locator(".why-race [data-round='5']").focus()
    page.keyboard.press("ArrowRight")
    assert now(page) == [6, "why"] and page.evaluate("document.activeElement.dataset.round") == "6"
    assert page.locator(".why-race .lead[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    assert now(page) == [6, "round"] and page.evaluate("shell.view.frame.kind") == "accept"
    page.evaluate("shell.view.set({look: 'why'})")
    page.click(".why-lost [data-open='9']")
    assert now(page) == [9, "round"]
    page.evaluate("shell.view.set({look: 'why'})")
    assert page.locator(".tv-why details").count() == 7, "a table behind every chart"


def test_sliders_ask_what_another_tree_would_have_accepted(blank):
    page = show(blank)
    what = WhatIf(SMALL)
    asked = (3, 2, 5)
    for name, place in (("top_k", 3), ("depth", 2), ("total_tokens", 4)):
        page.locator(f"[data-slide={name}]").fill(str(place))
    assert tuple(page.evaluate(f"Object.values({WHY}.state.setting)")) == asked
    found = what.at(*asked)
    tau = f"{found.tau[0]:.2f}" if found.exact else "–".join(f"{end:.2f}" for end in found.tau)
    page.evaluate("shell.view.set({round: 4})")
    accepted, rows, run, *_ = page.locator(".tiles b").all_text_contents()
    low, high = found.low[4], found.high[4]
    assert (accepted, rows, run) == (str(low) if low == high else f"{low}–{high}", "6", tau)
    kept, maybe = what.outlooks(3, 2)[4].kept(5)
    assert page.locator(".why-what circle:is(.kept, .accepted, .fresh)").count() == len({*kept} - {*maybe})
    page.click("[data-do=recorded]")
    assert page.locator(".tiles b").all_text_contents()[2] == f"{SMALL.summary.tau:.2f}"


def test_the_race_is_played_and_stopped_anywhere(blank):
    page = show(blank)
    written = ".written.tree .said"
    whole = page.text_content(written)
    page.locator("[data-slide=time]").fill("0")
    assert page.text_content(written).strip() == "" and page.locator(".veil").count() == 1
    page.locator("[data-slide=time]").fill("500")
    assert 0 < len(page.text_content(written)) < len(page.text_content(".written.plain .said"))
    page.click("[data-do=play]")
    page.wait_for_function(f"!{WHY}.state.racing")
    assert page.text_content(written) == whole and page.locator(".veil").count() == 0


def test_the_cost_is_measured_where_somebody_can(blank):
    assert show(blank).locator("[data-do=measure]").count() == 0
    curve = {"rows": [1, 8, 64], "seconds": [0.01, 0.012, 0.09]}
    cost = {"machine": "a machine", "verify": curve, "head": {"rows": [1, 8], "seconds": [0.001, 0.002]},
            "rest": {"rows": [1, 64], "seconds": [0, 0.001]}}
    page = show(blank, cost=cost)
    page.click("[data-do=measure]")
    assert page.locator(".why-cost progress").get_attribute("value") == "0.5"
    page.evaluate("finish()")
    page.wait_for_selector(".why-cost circle.point.head")
    assert "a machine" in page.text_content(".why-cost") and page.locator(".why-cost tbody tr").count() == 3


@pytest.mark.parametrize("width, height", [(1440, 900), (1024, 768), (390, 844)])
def test_nothing_lies_over_anything(blank, width, height):
    for name in ("sky-small", "arithmetic", "sampled"):
        page = show(blank, Trace.load(TRACES / f"{name}.json.gz"), viewport={"width": width, "height": height})
        for language in ("en", "zh"):
            page.evaluate("lang => shell.view.set({lang})", language)
            for round in (0, 3, 7):
                page.evaluate("round => shell.view.set({round})", round)
                assert page.evaluate(OUTSIDE) == [], (name, language, round)
        page.context.close()


def test_one_that_goes_leaves_nothing_behind(blank):
    page = blank.open("#view=why")
    page.wait_for_function("globalThis.shell = []")
    page.evaluate(COUNT)
    nothing = page.evaluate("({...open})")
    page.evaluate(MOUNT, [page_lines(SMALL), None])
    page.wait_for_selector(".tv-why .chart")
    page.click("[data-do=play]")
    page.evaluate("shell.destroy()")
    assert page.evaluate("({...open})") == nothing
