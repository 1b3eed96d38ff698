"""Traces of every way to draft: what the layers say is taken, what a policy promises is asked of it, and of a policy
that a file names nothing is ever imported."""

import copy
import json
import sys

import pytest

from core import DecodeConfig
from core.cli.main import main
from core.policies import SHIPPED, find
from core.trace import Trace, TraceError
from tests.trace_maker import make_trace
from treeviz import figures
from treeviz.page.gallery import lines_in
from treeviz.story.lines import trace_of

COMMON = ("max_new_tokens", "temperature", "top_p", "sample_top_k", "seed", "draft_vocab", "stop_ids")


def foreign(document, policy="mine:tree", **knobs):
    """The same run as if somebody's own policy had drafted it."""
    common = {name: document["config"][name] for name in COMMON}
    return copy.deepcopy(document) | {"config": {"policy": policy} | knobs | common}


def refusal(document) -> str:
    with pytest.raises(TraceError) as refused:
        Trace.from_dict(document)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400
    return str(refused.value)


# -- nothing is imported -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("policy", ["os:system", "antigravity:fly", "trap:Policy", "trap.deep:x", "no_such_module:x"])
def test_a_policy_that_a_file_names_is_not_imported(tmp_path, monkeypatch, capsys, policy):
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    document = foreign(make_trace(rounds=2).to_dict(), policy, command="touch sprung", width=3)
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    before = set(sys.modules)
    trace = Trace.load(path)
    assert trace.config["command"] == "touch sprung" and trace.config["policy"] == policy and trace.config["width"] == 3
    assert Trace.from_text(trace.to_lines()) == trace == trace_of("".join(lines_in(path, "theirs")))
    assert Trace.from_text(trace.to_lines().partition("\n")[0]).config == trace.config
    figures.pace_figure(trace), figures.tree_figure(trace.rounds[0], trace)
    assert main(["check-trace", str(path)]) == 0 and main(["show", str(path), "--round", "1"]) == 0
    assert policy in capsys.readouterr().out
    assert not (tmp_path / "sprung").exists() and not {"antigravity", "trap"} & (set(sys.modules) - before)


@pytest.mark.parametrize("policy", ["eagle9", "", "core.policies.eagle2", 5, None, ["eagle2"], "x" * 10**6,
                                    ":" * 10**6])
def test_a_policy_that_nobody_knows_is_refused(policy):
    assert "policy" in refusal(foreign(make_trace(rounds=1).to_dict(), policy))


@pytest.mark.parametrize("knobs", [{"width": {"deep": []}}, {"width": [[[1]]]}, {"width": "x" * 10**5}, {"a b": 1},
                                   {"w" * 99: 1}, {"width": None}])
def test_knobs_of_somebody_s_own_are_plain_values(knobs):
    assert "mine:tree" in refusal(foreign(make_trace(rounds=1).to_dict(), **knobs))


# -- what a policy promises --------------------------------------------------------------------------------------------

@pytest.mark.parametrize("made, config, words", [
    (dict(policy="chain", length=3), {"length": 4}, ["candidates", "chain (length 4)", "4"]),
    (dict(policy="chain", length=3), {"length": 2}, ["candidates", "chain (length 2)", "2"]),
    (dict(), {"total_tokens": 15}, ["tree", "16", "total_tokens 15"]),
    (dict(), {"top_k": 3}, ["candidates", "52", "top_k 3"]),
    (dict(policy="chain", length=3), {"top_k": 3}, ["top_k", "unknown", "config"]),
    (dict(policy="plain"), {"length": 3}, ["length", "unknown", "config"]),
    (dict(policy="chain", length=3), {"length": 10**9}, ["length is 1000000000"]),
    (dict(policy="chain", length=3), {"length": 0}, ["length is 0"])])
def test_a_policy_that_ships_is_held_to_its_knobs(made, config, words):
    document = make_trace(rounds=2, **made).to_dict()
    document["config"] |= config
    assert all(word in refusal(document) for word in words), refusal(document)


@pytest.mark.parametrize("named", [name for name in SHIPPED if find(name).exact])  # others may take less
@pytest.mark.parametrize("drafted", [dict(), dict(policy="chain", length=3), dict(policy="plain")],
                         ids=["eagle2", "chain", "plain"])
def test_a_run_is_not_taken_for_that_of_another_policy(named, drafted):
    document, other = make_trace(rounds=2, **drafted).to_dict(), DecodeConfig(named, **{"length": 3} if named == "chain" else {})
    mine = document["config"]
    document["config"] = other.to_dict() | {name: mine[name] for name in COMMON}
    if named == mine["policy"]:
        Trace.from_dict(document | {"config": mine})
    else:
        assert named in refusal(document)


# -- what the layers say -----------------------------------------------------------------------------------------------

def grown(temperature=0.0):
    """A document of one round: some tree of unlike layers, of which the target accepts nothing."""
    document = foreign(make_trace(policy="plain", rounds=1, temperature=temperature).to_dict())
    r = document["rounds"][0]
    words = [int(i) for i in document["vocabulary"]]
    wanted = {r["accept"]["bonus"], *r["target"]["argmax"]}
    tokens = [i for i in words if i not in wanted]
    parent, layer = [0, 0, 0, 2, 2, 1, 6], [0, 0, 1, 1, 1, 2, 3]
    r["candidates"] = {"token": tokens[:1] * 7, "parent": parent, "layer": layer, "log_prob": [-0.5] * 7,
                       "score": [-0.5, -0.5, -0.5, -1.0, -1.0, -1.0, -1.5]}
    r["layers"] = [{"expanded": fed, "selected": chosen, "passes": passes} for fed, chosen, passes in (
        ([0], [2], 1), ([0, 2], [1, 3], 2), ([1, 3], [6], 1), ([6], [], 0))]
    document["summary"] |= {"head_forwards": 4, "accepted_by_depth": [0] * 3, "acceptance_rate_per_pos": [0.0] * 3,
                            "acceptance_histogram": [1, 0, 0, 0]}
    return document


def test_any_layers_of_any_rows_and_children_are_taken():
    """The root fed twice, a row without children, another with two, an old candidate fed late, a layer of no pass."""
    trace = Trace.from_dict(grown())
    assert [len(layer.expanded) for layer in trace.rounds[0].layers] == [1, 2, 2, 1]
    assert Trace.from_text(trace.to_lines()) == trace


@pytest.mark.parametrize("path, value, words", [
    (("layers", 0, "expanded"), [0, 1], "layers[0].expanded names candidate 1, which was not made by then"),
    (("layers", 0, "expanded"), [0, 0], "layers[0].expanded names a candidate twice"),
    (("layers", 0, "expanded"), [], "layers[0].expanded does not list the parents of the layer's candidates"),
    (("layers", 1, "expanded"), [0], "layers[0].selected is not what the next layer expanded"),
    (("layers", 0, "selected"), [1], "layers[0].selected is not what the next layer expanded"),
    (("layers", 0, "selected"), [0, 2], "layers[0].selected names candidate 0"),
    (("layers", 3, "selected"), [7], "layers[3].selected is not what the next layer expanded"),
    (("layers", 1, "passes"), 3, "summary.head_forwards is 4, the rounds say 5"),
    (("layers", 1, "passes"), -1, "layers[1].passes"), (("candidates", "layer", 3), 0, "candidates.layer"),
    (("candidates", "layer", 6), 4, "layers has 4 entries, candidates.layer needs 5"),
    (("candidates", "parent", 1), 2, "candidates.parent of candidate 2 is 2; a parent comes before its child"),
    (("candidates", "layer"), [0, 0, 1, 1, 1, 1, 1], "candidate 7 is 1, not after its parent's"),
    (("tree", "cutoff"), -0.5, "tree.cutoff is -0.5, the worst kept score is None")])
def test_layers_that_contradict_themselves_are_refused(path, value, words):
    document = grown()
    place = document["rounds"][0]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert words in refusal(document)


# -- the rules of acceptance -------------------------------------------------------------------------------------------

def drawn(*draws):
    """A sampled round of a tree of three rows: 1 and 2 below the root, judged by the rule "drawn" as these say."""
    document = grown(temperature=1.0)
    r = document["rounds"][0]
    argmax = r["target"]["argmax"][0]
    n = r["prefix_length"]
    r["tree"] = {"candidate": [0, 1, 2], "parent": [-1, 0, 0], "depth": [0, 1, 1], "mask": ["80", "c0", "a0"],
                 "cutoff": -0.5, "position_ids": [n, n + 1, n + 1], "retrieve_indices": [[0, 1], [0, 2]]}
    r["target"] = {"argmax": [argmax] * 3, "token_prob": [1.0, 0.1, 0.1], "top": [[[argmax, 0.5]]] * 3}
    r["accept"] |= {"rule": "drawn", "draws": [{"node": n, "p": p, "r": 0.5, "accepted": p > 0.5} for n, p in draws]}
    return document


def test_a_row_may_be_drawn_more_than_once_where_it_was_drawn_from_the_head():
    Trace.from_dict(drawn((2, 0.4), (2, 0.0), (1, 0.3)))
    assert "does not try every child of row 0" in refusal(drawn((2, 0.4), (2, 0.0)))
    assert "does not try every child of row 0" in refusal(drawn())
    assert "says otherwise of row 1 than accept.path" in refusal(drawn((2, 0.4), (1, 0.9)))
    assert "no child of row 0" in refusal(drawn((0, 0.4), (1, 0.3)))
    assert "no child of row 0" in refusal(drawn((2, 0.4), (3, 0.3)))
    once = drawn((2, 0.4), (2, 0.0), (1, 0.3))
    once["rounds"][0]["accept"]["rule"] = "one-hot"
    assert "does not try the children of row 0 in order, each once" in refusal(once)


def test_the_rule_is_that_of_the_temperature_and_of_the_policy():
    for temperature, rules in ((0.0, ("one-hot", "drawn")), (1.0, ("greedy", "drawn"))):
        document = make_trace(rounds=2, temperature=temperature).to_dict()
        for rule in rules:
            document["rounds"][1]["accept"]["rule"] = rule
            assert "accept." in refusal(document)
        document["rounds"][1]["accept"]["rule"] = "typical"
        assert "accept.rule" in refusal(document)
    greedy = make_trace(rounds=1).to_dict()
    greedy["rounds"][0]["accept"]["draws"] = [{"node": 1, "p": 0.1, "r": 0.5, "accepted": False}]
    assert "accept.draws is not empty" in refusal(greedy)


@pytest.mark.parametrize("field", [
    "rounds", "tau", "mean_acceptance_length", "draft_acceptance_rate", "accepted_by_depth", "acceptance_rate_per_pos",
    "acceptance_histogram", "target_forwards", "head_forwards"])
def test_a_summary_that_lies_is_refused(field):
    trace = make_trace(rounds=5)
    lengths, drafted = [r.accept.length for r in trace.rounds], sum(len(r.tree.candidate) - 1 for r in trace.rounds)
    true = {"tau": 1 + sum(lengths) / 5, "mean_acceptance_length": 1 + sum(lengths) / 5, "rounds": 5,
            "draft_acceptance_rate": sum(lengths) / drafted, "target_forwards": 6, "head_forwards": 5 * 4,
            "accepted_by_depth": [sum(n > i for n in lengths) for i in range(4)],
            "acceptance_rate_per_pos": [sum(n > i for n in lengths) / 5 for i in range(4)],
            "acceptance_histogram": [lengths.count(n) for n in range(5)]}[field]
    assert getattr(trace.summary, field) == pytest.approx(true)
    for value in ([[*true[:-1], true[-1] + 1], [*true, 0], true[:-1]] if isinstance(true, list) else [true + 0.01]
                  if isinstance(true, float) else [true + 1, true - 1]):
        document = trace.to_dict()
        document["summary"][field] = value
        assert f"summary.{field}" in refusal(document)
