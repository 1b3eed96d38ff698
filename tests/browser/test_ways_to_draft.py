"""Runs of every policy are stepped through, in both languages, whatever their rounds lack."""

import json

import pytest

from tests.trace_maker import make_trace
from treeviz.story.lines import page_lines

pytestmark = pytest.mark.timeout(170)
VIEW = "document.querySelector('.tv').treeviz"


@pytest.mark.parametrize("temperature", [0.0, 1.0], ids=["greedy", "sampled"])
@pytest.mark.parametrize("policy", [dict(policy="chain", length=4), dict(policy="chain", length=1), dict(policy="plain")],
                         ids=["chain", "chain of one", "plain"])
def test_every_frame_is_told_and_every_panel_opens(visit, folder, policy, temperature):
    page, path = visit.open(), folder / "policy.jsonl"
    trace = make_trace(rounds=3, temperature=temperature, **policy)
    trace.save(path)
    page.set_input_files("input[type=file]", str(path))
    page.wait_for_function(f"{VIEW}.data.rounds === 3 && {VIEW}.data.header.config.policy === '{policy['policy']}'")
    named = ", ".join(f"{name} {value}" for name, value in policy.items() if name != "policy")
    assert page.text_content(".tv-run").endswith(f" · {policy['policy']}" + f" ({named})" * bool(named))
    told = [json.loads(line)["page"]["frames"] for line in page_lines(trace).splitlines()[1:-1]]
    for i, frames in enumerate(told):
        for j, frame in enumerate(frames):
            page.evaluate(f"{VIEW}.set({{round: {i}, frame: {j}}})")
            assert page.evaluate(f"{VIEW}.frame.kind") == frame["kind"]
            words = "".join(part if isinstance(part, str) else part[0] for part in frame["say"]["en"])
            said = page.text_content(".tv-say").replace("“", "").replace("”", "")
            assert words.replace("“", "").replace("”", "") in said
            for panel in page.locator(".tv-tabs [data-panel]").all():
                panel.click()
            page.keyboard.press("Escape")
    page.evaluate(f"{VIEW}.set({{panel: 'scores', round: 0, frame: {VIEW}.model.frames.length - 1}})")
    count = trace.rounds[0].tree.candidate[1:]
    page.wait_for_function("!document.querySelector('.tv-caption').textContent.includes('so far')")
    hint = page.text_content(".tv-caption")
    assert hint.startswith("Nothing is drafted" if not count else "1 candidate, which is kept" if len(count) == 1
                           else f"{len(count)} candidates, best first; all are kept"), hint
    if count:
        page.evaluate(f"{VIEW}.pin(1)")
        page.wait_for_function("document.querySelector('.tv-details').textContent.includes('none is cut')")
    if temperature or policy["policy"] == "chain":
        page.locator(".tv-tree .n").last.hover()
    assert not visit.complaints, visit.complaints
