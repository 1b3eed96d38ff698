"""The walkthrough: its frames, the states in them, its sentences, and the layout."""

import math
import re
from types import SimpleNamespace

import pytest

from core.trace import Trace
from tests.trace_maker import make_trace
from treeviz.story.frames import ABSENT, FRAMES, frames, pack, rejected_rows
from treeviz.story.labels import number, show
from treeviz.story.language import LANGUAGES
from treeviz.story.layout import boxes, layout
from treeviz.story.lines import PageLines, Pieces, page_lines, trace_of
from treeviz.story.narrate import narrate, plain, round_gain
from treeviz.story.source import sources

GRID = [dict(top_k=4, depth=3, total_tokens=16), dict(top_k=1, depth=4, total_tokens=5), dict(top_k=3, depth=0, total_tokens=2),
        dict(top_k=4, depth=2, total_tokens=36), dict(top_k=3, depth=2, total_tokens=1),
        dict(top_k=4, depth=3, total_tokens=20, temperature=1.0), dict(top_k=10, depth=7, total_tokens=59, rounds=2),
        dict(policy="chain", length=5), dict(policy="chain", length=1), dict(policy="chain", length=3, temperature=1.0),
        dict(policy="plain"), dict(policy="plain", temperature=1.0)]


@pytest.fixture(scope="module", params=range(len(GRID)), ids=lambda i: str(list(GRID[i].values())))
def trace(request):
    return make_trace(**GRID[request.param])


def unpack(packed):
    return re.sub(r"(.)(\d+)", lambda m: m[1] * int(m[2]), packed)


def test_the_order_of_frames(trace):
    """What there is to choose from has a frame of the choice."""
    for r in trace.rounds:
        sizes = [r.candidates.layer.count(i) for i in range(len(r.layers))]
        kinds = ["root"]
        for size, layer in zip(sizes, r.layers):
            kinds += ["expand", "select"] if layer.selected and size > 1 else ["expand"]
        kinds += ["rerank"] if len(r.tree.candidate) - 1 < sum(sizes) else []
        kinds += ["flatten"] if len(r.tree.candidate) > 1 else []
        assert [frame.kind for frame in frames(r)] == [*kinds, "verify", "accept", "commit"]


def test_a_chain_and_plain_decoding_choose_nothing():
    chain, plain_ = make_trace(policy="chain", length=3).rounds[0], make_trace(policy="plain").rounds[0]
    assert " ".join(f.kind for f in frames(chain)) == "root expand expand expand flatten verify accept commit"
    assert " ".join(f.kind for f in frames(plain_)) == "root verify accept commit"
    assert [f.states for f in frames(plain_)] == ["R.", "R.", "Rb", "Rb"]


def test_states_tell_the_round(trace):
    for r in trace.rounds:
        count, all_frames = len(r.candidates.token), frames(r)
        for frame in all_frames:
            assert len(frame.states) == count + 2 and unpack(pack(frame.states)) == frame.states
            assert frame.states[0] == "R" and frame.code in FRAMES
            assert all(frame.states[i] != ABSENT for i in frame.focus)
        for frame in all_frames:
            if frame.kind == "expand":
                assert [s != ABSENT for s in frame.states[1:-1]] == [layer <= frame.layer for layer in r.candidates.layer]
        verify, last = (next(f.states for f in all_frames if f.kind == kind) for kind in ("verify", "commit"))
        assert {i for i, s in enumerate(verify) if s == "k"} == set(r.tree.candidate[1:])
        assert {i for i, s in enumerate(last) if s == "a"} == {r.tree.candidate[row] for row in r.accept.path[1:]}
        assert {i for i, s in enumerate(last) if s == "x"} == {r.tree.candidate[row] for row in rejected_rows(r)}
        assert last[-1] == "b" and all(f.states[-1] == ABSENT for f in all_frames[:-2])


def test_every_frame_has_a_sentence_with_its_numbers(trace):
    for r in trace.rounds:
        for frame in frames(r):
            for language in LANGUAGES:
                parts = narrate(trace, r, frame, language)
                text = plain(parts)
                assert text and "{" not in re.sub("“[^”]*”", "", text) and "\n" not in text
                for part in parts:
                    assert isinstance(part, str) or frame.states[part[1]] != ABSENT or frame.kind in ("flatten", "rerank", "verify")
        say = {f.kind: plain(narrate(trace, r, f)) for f in frames(r)}
        if "rerank" in say:
            assert number(r.tree.cutoff) in say["rerank"] and str(len(r.candidates.token)) in say["rerank"]
        assert str(r.cache.length_before) in say["commit"] and str(r.cache.length_after) in say["commit"]
        assert say["accept"].count("“") >= 1
        assert round_gain(r).startswith(f"Round {r.index + 1} wrote") and round_gain(r, "zh")
        assert not re.search(r"\b1 (\w+ )?(tokens|candidates|rows|children)\b|other 0", " ".join(say.values())), say


def test_a_policy_speaks_of_itself():
    """Of a tree it is a tree that is spoken of, of a chain a chain, and of plain decoding neither."""
    for policy, own, not_of in (("eagle2", "tree", "chain"), ("chain", "chain", "tree"),
                                ("plain", "Nothing is drafted", "tree|chain|candidate")):
        for temperature in (0.0, 1.0):
            trace = make_trace(policy=policy, temperature=temperature)
            said = " ".join(plain(narrate(trace, r, f), "  ") for r in trace.rounds for f in frames(r))
            assert own in said and not re.search(not_of, said), (policy, re.search(f".{{60}}({not_of}).{{60}}", said))


def test_what_somebody_s_own_policy_does_is_told_in_general_words():
    document = make_trace(policy="chain", length=3).to_dict()
    del document["config"]["length"]
    document["config"] |= {"policy": "mine:tree", "reach": 3}
    trace = Trace.from_dict(document)
    said = [plain(narrate(trace, trace.rounds[0], f)) for f in frames(trace.rounds[0])]
    assert "alone, with probability" in said[1] and "the tree of this round" in said[0]
    assert not any("chain" in text for text in said)


def test_a_layer_may_feed_what_it_likes():
    """Rows with unlike numbers of children, one of them from an older layer: as some other policy may draft."""
    r = make_trace(policy="plain", rounds=1).rounds[0]
    columns = {"token": [1, 2, 3, 4, 5, 6], "parent": [0, 0, 1, 1, 2, 3], "layer": [0, 0, 1, 1, 1, 2]}
    columns |= {"log_prob": [-0.5] * 6, "score": [-0.5, -0.5, -1.0, -1.0, -1.0, -1.5]}
    candidates = r.candidates.model_copy(update=columns)
    layers = [SimpleNamespace(expanded=fed, selected=chosen, passes=1) for fed, chosen in (
        ([0], [1, 2]), ([1, 2], [3]), ([3], []))]
    r = r.model_copy(update={"candidates": candidates, "layers": layers})
    trace = make_trace(policy="plain", rounds=1)
    told = {(f.kind, f.layer): narrate(trace, r, f, "en") for f in frames(r) if f.layer is not None}
    trace_words = plain(told["expand", 1])
    assert trace_words.startswith("The 2 chosen tokens go through the head and get 3 children together.")
    assert [key for key in told] == [("expand", 0), ("select", 0), ("expand", 1), ("select", 1), ("expand", 2)]
    assert "alone" in plain(told["expand", 2])


def test_the_select_sum_adds_up():
    trace = make_trace()
    r = trace.rounds[0]
    for frame in frames(r):
        if frame.kind == "select" and frame.layer:
            text = plain(narrate(trace, r, frame)).replace("\u2212", "-")
            terms, total = re.search(r"”, (-[-\d. ]+) [=≈] (-[\d.]+);", text).groups()
            values = [-float(x) for x in re.findall(r"[\d.]+", terms)]
            assert len(values) == frame.layer + 1 and math.isclose(sum(values), float(total), abs_tol=0.03)


def test_a_very_deep_tree_is_laid_out():
    r = make_trace(rounds=1, top_k=1, depth=1200, total_tokens=1201).rounds[0]
    place = layout(r)
    assert len(place) == 1203 and max(y for _, y in place.values()) <= 1
    assert [depth for depth, _ in place.values()][:-1] == list(range(1202))


def test_all_rows_and_one_row_are_said_in_words():
    said = set()
    for shape in GRID:
        made = make_trace(**shape)
        said |= {plain(narrate(made, r, frames(r)[-3])) for r in made.rounds if len(r.tree.parent) > 1}
    assert not [text for text in said if re.search(r"(\d+) of the \1 |of the 1 rows|At 0 ", text)]
    assert any("the one row with" in text for text in said) and any(re.search(r"\d+ of the \d+ rows", text) for text in said)


def test_layout_is_tidy(trace):
    for r in trace.rounds:
        place, parent = layout(r), boxes(r)
        assert set(place) == set(parent) and min(y for _, y in place.values()) == 0
        rows = {}
        for node, (depth, y) in place.items():
            assert depth == (place[parent[node]][0] + 1 if node else 0)
            rows.setdefault(depth, []).append(y)
            children = [place[c][1] for c, p in parent.items() if p == node]
            assert not children or math.isclose(y, (children[0] + children[-1]) / 2, abs_tol=0.01)
        for ys in rows.values():
            ys.sort()
            assert all(b - a >= 0.999 for a, b in zip(ys, ys[1:])), "no two boxes overlap"


def test_networkx_graph_is_the_round(trace):
    import networkx as nx

    from treeviz import to_networkx
    r = trace.rounds[0]
    graph = to_networkx(r, trace)
    assert nx.is_arborescence(graph) and len(graph) == len(r.candidates.token) + 2
    assert sum(kept for _, kept in graph.nodes(data="kept")) == len(r.tree.candidate)
    for candidate in r.tree.candidate[1:]:
        path = nx.shortest_path(graph, 0, candidate)
        assert math.isclose(sum(graph.edges[e]["log_prob"] for e in zip(path, path[1:])), graph.nodes[candidate]["score"], abs_tol=1e-3)
    "\n".join(nx.generate_graphml(graph))


def test_page_lines_append_and_give_the_trace_back(trace):
    whole, lines = page_lines(trace), PageLines()
    grown = ""
    for line in trace.to_lines().splitlines(keepends=True):
        before, grown = grown, grown + lines.add(line)
        assert grown.startswith(before)
    assert grown == whole and trace_of(whole) == trace
    cut = "".join(whole.splitlines(keepends=True)[:-1])
    assert trace_of(cut).output.finish_reason == "cancelled"


def test_text_of_split_characters():
    words = [" a", b"\xf0\x9f", b"\x98", b"\x80", "\n"]
    trace = make_trace(words=words + [f" w{i}" for i in range(12)], prompt=(0, 1, 2, 3, 4), rounds=1)
    text = Pieces()
    assert [text.add(trace.token(i)) for i in range(5)] == [" a", "", "", "😀", "\n"]


@pytest.mark.parametrize("text, label", [(" the", "·the"), ("\n", "↵"), ("\t", "⇥"), ("", "∅"), ("\x00", "␀"), ("\u202e", "⟨U+202E⟩"),
                                         ("\ufffe", "⟨U+FFFE⟩"), ("\U0001ffff", "⟨U+1FFFF⟩"), ("\ufdd0", "⟨U+FDD0⟩"),
                                         (b"\xe2\x82", "⟨E2 82⟩"), ("${7*7}", "${7*7}"), ("\\u", "\\u")])
def test_labels(text, label):
    class Word:
        bytes = text.hex() if isinstance(text, bytes) else None
    Word.text = "\ufffd" if isinstance(text, bytes) else text
    assert show(Word) == label


def test_every_step_has_its_source():
    found = sources()
    assert set(found) == set(FRAMES), "a function was renamed: mend FRAMES in frames.py"
    for key, source in found.items():
        assert source["marks"], f"no line of {source['function']} is marked for {key}"
        assert f"def {source['function'].split('.')[-1]}" in "".join(source["lines"])


def test_recorded_runs_can_be_shown():
    from treeviz.page.gallery import lines_in, recorded
    runs = recorded()
    assert runs
    for run in runs:
        assert isinstance(trace_of("".join(lines_in(run.path, run.name))), Trace)
