"""A run whose first token ends it: no rounds, no tau, and one token that is shown everywhere."""

import dataclasses
import json

import pytest

from core import DecodeConfig, Trace, decode
from core.cli.main import main
from core.trace.show import summary_lines
from tests.trace_maker import trace_with_first_token
from treeviz import figures
from treeviz.story.labels import show
from treeviz.story.lines import page_lines, trace_of

PROMPT = [1, 115, 57, 198, 43]


@pytest.fixture(scope="module", params=["eos", "stop"])
def trace(request, golden_pair):
    first = decode(golden_pair, PROMPT, DecodeConfig(max_new_tokens=1)).output.token_ids[0]
    pair = dataclasses.replace(golden_pair, eos_ids=(first,)) if request.param == "eos" else golden_pair
    trace = decode(pair, PROMPT, DecodeConfig(stop_ids=[first] if request.param == "stop" else []))
    assert trace.output.token_ids == [first] and trace.output.finish_reason == request.param and not trace.rounds
    return trace


def test_the_page_is_told_the_token_and_why_there_is_no_more(trace):
    header, footer = map(json.loads, page_lines(trace).splitlines())
    token, label = trace.output.token_ids[0], show(trace.token(trace.output.token_ids[0]))
    assert (header["page"]["labels"] | footer["page"]["labels"])[str(token)] == label
    assert len(footer["page"]["pieces"]) == 1
    for said in footer["page"]["say"].values():
        assert f"“{label}”" in said and "tau" in said
    assert trace_of(page_lines(trace)) == trace == Trace.from_text(trace.to_lines())


def test_every_chart_says_why_it_is_empty(trace):
    for figure in figures.CHARTS:
        for language, word in (("en", "ended the text"), ("zh", "结束了文本")):
            drawn = figure(trace, language)
            assert not drawn.data and word in drawn.layout.annotations[0].text and "tau 0" not in drawn.to_json()


def test_the_charts_tab_says_it_and_not_that_no_run_is_loaded():
    import gradio as gr

    from treeviz.page import charts
    trace = trace_with_first_token("*$`<b>")
    with gr.Blocks() as page:
        charts.draw(trace)
    [text] = [block.value for block in page.blocks.values() if isinstance(block, gr.Markdown)]
    assert r"“\*\$\`\<b\>”" in text and "No run" not in text


def test_the_terminal_says_it(trace, tmp_path, capsys):
    trace.save(tmp_path / "t.json")
    assert main(["show", str(tmp_path / "t.json")]) == 0
    out = capsys.readouterr().out
    assert "ended the text and nothing was drafted, so there is no tau" in out and "tau 0" not in out
    assert main(["show", str(tmp_path / "t.json"), "--round", "1"]) == 2
    assert "has no rounds: the target's first token" in capsys.readouterr().err


def test_a_run_stopped_before_its_first_round_says_that(trace):
    stopped = Trace.from_text(trace.to_lines().partition("\n")[0])
    assert "stopped before its first round" in "".join(summary_lines(stopped))
    assert "stopped before its first round" in json.loads(page_lines(stopped).splitlines()[-1])["page"]["say"]["en"]
    assert "stopped before" in figures.pace_figure(stopped).layout.annotations[0].text
