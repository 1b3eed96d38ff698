"""The plotly figures: they hold what the trace says, and hostile text stays text."""

import html
import re
import sys
import types

import pytest

from core.trace import Trace
from tests.trace_maker import make_trace
from treeviz import figures
from treeviz.story.frames import frames
from treeviz.story.layout import layout


@pytest.fixture(scope="module", params=[0.0, 1.0])
def trace(request):
    return make_trace(temperature=request.param)


def test_tree_figure(trace):
    for r in trace.rounds:
        shown = {node for part in figures.tree_figure(r, trace).data if part.customdata is not None for node in part.customdata}
        assert set(r.tree.candidate) | {len(r.candidates.token) + 1} <= shown
    assert figures.tree_figure(trace.rounds[0]).to_json()  # without the trace: numbers for tokens


def test_the_tree_figure_tells_what_the_frame_is_about(trace):
    """The accepted path in green from the root on, and at the boxes the number that the step is about."""
    for r in trace.rounds:
        kinds = [frame.kind for frame in frames(r)]
        place = layout(r)
        green = [part for part in figures.tree_figure(r, trace).data if part.line.color == figures.GREEN and part.mode == "lines"]
        path = [r.tree.candidate[row] for row in r.accept.path]
        ends = {(x, y) for part in green for x, y in zip(part.x, part.y) if x is not None}
        assert {place[node] for node in path[1:]} <= ends and (len(path) > 1) == bool(green)
        for kind, number in (("flatten", "0"), ("rerank", figures.number(r.candidates.score[0]))):
            texts = [part.text for part in figures.tree_figure(r, trace, kinds.index(kind)).data if part.mode == "text"]
            assert number in texts[0] and len(texts[0]) >= len(r.tree.candidate) - 1
        hairs = figures.tree_figure(r, trace, kinds.index("rerank")).data[0]
        assert hairs.x.count(None) == len(r.candidates.token) - (len(place) - 2), "a hair for every candidate without a box"


def test_a_frame_goes_by_its_kind_too():
    r = make_trace().rounds[0]
    kinds = [frame.kind for frame in frames(r)]
    for kind in kinds:  # of "expand" and "select" the first
        assert figures.tree_figure(r, None, kind) == figures.tree_figure(r, None, kinds.index(kind))
    assert figures.tree_figure(r) == figures.tree_figure(r, frame="accept") == figures.tree_figure(r, frame=-2)
    for wrong in (99, -99, "draft", None, 1.5):
        with pytest.raises(ValueError) as error:
            figures.tree_figure(r, frame=wrong)
        assert str(error.value) == (f"There is no frame {wrong!r} in this round; give a number from 0 to {len(kinds) - 1}, or one "
                                    "of root, expand, select, rerank, flatten, verify, accept, commit.")


def test_a_long_token_is_short_at_its_box_and_long_when_pointed_at():
    trace = make_trace(words=["&" * 300] * 16)
    for part in figures.tree_figure(trace.rounds[0], trace).data:
        if part.mode == "markers+text":
            assert set(part.text) == {"&amp;" * 13 + "…"}
            assert all(text.startswith("&amp;" * 199 + "…<br>") for text in part.hovertext)


def test_the_root_is_seen_on_light_and_on_dark(trace):
    root = next(part for part in figures.tree_figure(trace.rounds[0]).data if part.name == "root")
    assert root.marker.line.color == figures.INK != root.marker.color


def test_mask_figure(trace):
    r = trace.rounds[0]
    z = figures.mask_figure(r, trace).data[0].z
    assert [[bool(v) for v in row] for row in z] == [r.mask_row(i) for i in range(len(r.tree.mask))]


def test_charts_add_up(trace):
    accepted = figures.accepted_figure(trace)
    assert sum(accepted.data[0].y) == sum(r.accept.length for r in trace.rounds)
    assert figures.pace_figure(trace).data[0].y[-1] == 1 + sum(r.accept.length + 1 for r in trace.rounds)
    assert abs(sum(bar.x[0] for bar in figures.time_figure(trace).data) - 1) < 1e-9
    assert figures.depth_figure(trace).data[0].y[0] <= 1


def test_charts_in_chinese_show_the_same_numbers(trace):
    for figure in figures.CHARTS:
        english, chinese = figure(trace), figure(trace, "zh")
        assert re.search("[一-鿿]", chinese.layout.title.text) and not re.search("[一-鿿]", english.to_json())
        assert [(part.x, part.y) for part in english.data] == [(part.x, part.y) for part in chinese.data]
    from treeviz.page.charts import definitions
    numbers = [re.findall(r"\d+(?:\.\d+)?", definitions(trace, language)) for language in ("en", "zh")]
    assert numbers[0] == numbers[1]


def test_hostile_text():
    trace = make_trace(words=["<b>x</b>", "<a href='javascript:x'>", "&amp;", *[f" {i}" for i in range(14)]])
    for r in trace.rounds:
        for figure in (figures.tree_figure(r, trace), figures.mask_figure(r, trace), figures.accepted_figure(trace)):
            assert "<b>x" not in figure.to_json() and "<a href" not in figure.to_json()


DOLLARS = ["$", "$$", "$x$", "a$b$c", "$$$x", r"$\alpha$", "&#36;", "&dollar;", "<b>$", "&lt;", "<br>", "<sub>2</sub>", "%{x}", "100%"]


def test_every_text_is_the_text_itself():
    """Plotly takes what stands between dollar signs for mathematics, and what looks like HTML for HTML."""
    trace = make_trace(words=[*DOLLARS, " a", " b"])
    said = {figures.show(trace.token(int(i))) for i in trace.vocabulary}
    assert {figures.show(word) for word in trace.vocabulary.values()} >= set(DOLLARS[:3])
    for r in trace.rounds:
        tree = figures.tree_figure(r, trace)
        for part in tree.data:
            if part.mode == "markers+text":
                assert [html.unescape(text) in said for text in part.text].count(False) == 0
                assert all(html.unescape(text.split("<br>")[0]) in said for text in part.hovertext)
        for figure in (tree, figures.mask_figure(r, trace), figures.accepted_figure(trace)):
            for text in texts(figure.to_plotly_json()):
                assert "$" not in text and set(re.findall("<[^>]*>", text)) <= {"<br>"}
    hover = figures.accepted_figure(trace).data[0].hovertext
    assert [html.unescape(text) for text in hover] == ["".join(figures.show(trace.token(t)) for t in r.committed[1:]) for r in trace.rounds]


def texts(value):
    """Every string in a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts(each)


def test_the_numbers_of_a_run_explain_themselves():
    trace = make_trace(rounds=3)
    from treeviz.page.charts import definitions
    assert f"**{trace.summary.new_tokens}** new tokens in **3** rounds. " in definitions(trace)
    assert " further" not in definitions(trace)
    document = trace.to_dict()
    document["output"]["token_ids"].pop()
    document["summary"]["new_tokens"] = document["config"]["max_new_tokens"] = trace.summary.new_tokens - 1
    assert "The last chart goes 1 further" in definitions(Trace.from_dict(document)), "its bonus came after the end"
    one = make_trace(rounds=1, top_k=1, depth=0, total_tokens=1)
    assert "in **1** round. " in definitions(one) and "verifies 1 drafted token;" in definitions(one)


def test_charts_of_a_chain_and_of_plain_decoding():
    from treeviz.page.charts import definitions
    chain, none = make_trace(policy="chain", length=5), make_trace(policy="plain", rounds=3)
    passes = "the target ran **{}** times (one a round, and the prefill), the head **{}** times"
    assert "verifies 5 drafted tokens; " + passes.format(7, 30) in definitions(chain)
    assert "Nothing is drafted; " + passes.format(4, 0) in definitions(none)
    drawn = figures.depth_figure(chain).data[0]
    reached = [sum(r.accept.length > n for r in chain.rounds) for n in range(5)]
    assert list(drawn.x) == [1, 2, 3, 4, 5] and list(drawn.y) == [n / 6 for n in reached]
    assert "Nothing was drafted" in figures.depth_figure(none).layout.annotations[0].text
    assert figures.pace_figure(none).data[0].name == "plain"
    assert list(figures.pace_figure(none).data[0].y) == [1, 2, 3, 4] == list(figures.pace_figure(none).data[1].y)
    for r in (chain.rounds[0], none.rounds[0]):
        for frame in ("root", "verify", "accept", "commit"):
            figures.tree_figure(r, chain, frame), figures.mask_figure(r)
    assert len(figures.mask_figure(none.rounds[0]).data[0].z) == 1


@pytest.mark.parametrize("way", ["show", "_ipython_display_"])
def test_a_notebook_without_nbformat_shows_a_figure(monkeypatch, trace, way):
    import plotly.io._renderers
    shown = []
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", types.ModuleType("IPython.display"))
    sys.modules["IPython.display"].display = lambda bundle, raw: shown.append(bundle)
    monkeypatch.setattr(plotly.io._renderers, "ipython_display", sys.modules["IPython.display"])
    monkeypatch.setattr(plotly.io._renderers, "nbformat", None)
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    figure = figures.tree_figure(trace.rounds[0], trace)
    getattr(figure, way)()
    assert [list(bundle) for bundle in shown] == [["application/vnd.plotly.v1+json"]]
    drawn = shown[0]["application/vnd.plotly.v1+json"]["data"]
    assert [part.get("name") for part in drawn] == [part.name for part in figure.data]
    with pytest.raises(ValueError, match="nonsense"):
        figure.show("nonsense")
