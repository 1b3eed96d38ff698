"""The page's lines: of a whole trace what a live run sends, and the trace again without what the page adds."""

import json

import pytest

from tests.trace_maker import make_trace
from treeviz.story.lines import PageLines, page_lines, trace_of


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_whole_trace_is_told_as_a_live_one_is(temperature):
    trace = make_trace(temperature=temperature, words=["é", b"\xf0\x9f", b"\x98\x80", "<|end|>", *[f" {i}" for i in range(12)]])
    page = PageLines("here")
    live = "".join(page.add(line) for line in trace.lines())
    whole = page_lines(trace, "here")
    assert [json.loads(line) for line in whole.splitlines()] == [json.loads(line) for line in live.splitlines()]
    assert trace_of(whole) == trace


def test_every_token_has_its_label_before_it_is_needed():
    trace, known = make_trace(), set()
    _, *lines, _ = [json.loads(line) for line in page_lines(trace).splitlines()]
    for part, r in zip(lines, trace.rounds):
        known |= set(part["page"]["labels"])
        assert known >= {str(i) for i in r.token_ids} - {str(i) for i in trace.prompt.token_ids}


@pytest.mark.parametrize("policy, told", [(dict(), "eagle2 (top_k 4, depth 3, total_tokens 16)"), (dict(policy="plain"), "plain"),
                                          (dict(policy="chain", length=2), "chain (length 2)")])
def test_the_header_says_what_drafts(policy, told):
    assert json.loads(page_lines(make_trace(rounds=1, **policy)).splitlines()[0])["page"]["policy"] == told
