"""Fixed trees: the numbers of the official programs, the head asked the long way, and what is no tree."""

import json
from pathlib import Path

import pytest
import torch
from cli import IDS, PAIR, refused
from test_policy_trees import PROMPT, features_of, head_says

from core import DecodeConfig, decode
from core.cli.main import main
from core.errors import UserError
from core.model.head import Drafter
from core.policies.static import EAGLE1, plan
from core.trace import Trace
from treeviz.story.frames import frames
from treeviz.story.language import LANGUAGES
from treeviz.story.narrate import narrate, plain

GOLDEN = Path(__file__).resolve().parents[1] / "golden_trees"


def golden(name):
    cases = json.loads((GOLDEN / f"{name}.json").read_text())["cases"]
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def bits(digits, rows):
    return bin(int(digits, 16))[2:].zfill(4 * len(digits))[:rows]


def after(pair, ids, tokens):
    """Log-probabilities that the head gives what follows ids and then its own tokens, a whole pass for each."""
    features = features_of(pair, ids[:-1])
    for place in range(len(tokens)):
        _, out = head_says(pair, [*ids[1:], *tokens[:place]], features)
        features = torch.cat([features, out[-1:]])
    return head_says(pair, [*ids[1:], *tokens], features)[0][-1]


def drafted_as(pair, trace, r, paths):
    """Is candidate i, in order of layer and path, the token of its rank after the tokens of its path?"""
    ids = ([*trace.prompt.token_ids, *trace.output.token_ids])[: r.prefix_length + 1]
    tokens, says = {(): []}, {}
    for i, path in enumerate(sorted(map(tuple, paths), key=lambda path: (len(path), path))):
        above = path[:-1]
        if above not in says:
            says[above] = after(pair, ids, tokens[above])
        token = int(says[above].topk(path[-1] + 1).indices[-1])
        assert r.candidates.token[i] == token
        assert r.candidates.log_prob[i] == pytest.approx(float(says[above][token]), abs=1e-3)
        tokens[path] = [*tokens[above], token]


def same_tree(r, case):
    assert r.tree.parent == case["parents"] and r.tree.depth == case["depth"]
    assert [bits(row, len(case["mask"])) for row in r.tree.mask] == case["mask"]
    assert r.tree.retrieve_indices == case["retrieve"]


@golden("eagle1")
def test_eagle1s_trees_are_fed_row_by_row_as_the_official_program_means_it(case, golden_pair, monkeypatch):
    fed, probe = [], Drafter.probe

    def seen(self, token_ids, features, mask, depth):
        fed.append((["".join("01"[int(on)] for on in row) for row in mask], depth))
        return probe(self, token_ids, features, mask, depth)

    monkeypatch.setattr(Drafter, "probe", seen)
    trace = decode(golden_pair, PROMPT, DecodeConfig("static", tree=case["choices"], max_new_tokens=9))
    for r in trace.rounds:
        same_tree(r, case)
        assert [layer.expanded for layer in r.layers] == [[0], *case["fed_rows_by_step"]]
        assert sum(layer.passes for layer in r.layers) == case["head_passes"]
    steps = len(case["fed_rows_by_step"])
    assert fed == [(mask, depth) for depth, mask in enumerate(case["draft_mask_by_step"], 1)] * len(trace.rounds)
    made = plan(tuple(map(tuple, case["choices"])))
    assert [[step.row[i] for i in step.again] for step in made[:steps]] == case["fed_parent_place_by_step"]
    places = [[10 * step.row[i] + step.rank[i] for i in step.again] for step in made[:steps]]
    assert places == case["draft_token_index_by_step"]
    drafted_as(golden_pair, trace, trace.rounds[0], case["choices"])


@golden("medusa")
def test_medusas_lists_in_whatever_order_are_its_trees(case, weak_pair):
    trace = decode(weak_pair, PROMPT, DecodeConfig("static", tree=case["choices"], max_new_tokens=6))
    for r in trace.rounds[:2]:
        same_tree(r, case)
        drafted_as(weak_pair, trace, r, case["choices"])


def test_the_usual_tree_is_eagle1s_and_a_budget_a_prefix_of_it(golden_pair):
    assert list(map(list, EAGLE1)) == json.loads((GOLDEN / "eagle1.json").read_text())["cases"][0]["choices"]
    for nodes in (1, 5, 24, 25):
        config = DecodeConfig("static", nodes=nodes, max_new_tokens=8)
        trace = decode(golden_pair, PROMPT, config)
        assert all(len(r.tree.parent) == nodes + 1 for r in trace.rounds) and config.bounds.rows == nodes + 1
        drafted_as(golden_pair, trace, trace.rounds[0], EAGLE1[:nodes])
        assert Trace.from_text(trace.to_lines()) == trace
    assert DecodeConfig("static").bounds == DecodeConfig("static", nodes=25).bounds


@pytest.mark.parametrize(("knobs", "words"), [
    (dict(tree=[[0], [1, 0]]), ["[1, 0]", "without its parent [1]", "add"]),
    (dict(tree=[[0], [0, 0, 0]]), ["3 ranks", "none of 2"]),
    (dict(tree=[[0, 0]]), ["2 ranks", "none of 1"]),
    (dict(tree=[[0], [1], [0]]), ["[0] twice", "leave"]),
    (dict(tree=[[0, 0], [0]], nodes=1), ["none of 1"]),
    (dict(tree=[]), ["tree is []", "rank paths"]), (dict(tree=[[]]), ["tree is [[]]"]),
    (dict(tree=[0]), ["tree is [0]"]),
    (dict(tree=[[True]]), ["tree is [[True]]"]), (dict(tree=[[0], [-1]]), ["-1"]), (dict(tree=[[0.5]]), ["0.5"]),
    (dict(tree="0,0"), ["'0,0'"]), (dict(tree=[[10**9]]), ["1000000000"]), (dict(tree=[[0]] * 10**5), ["tree is"]),
    (dict(nodes=26), ["nodes is 26", "25 paths"]), (dict(nodes=-1), ["nodes is -1"]),
    (dict(tree=[[12]], draft_vocab=5), ["draft_vocab is 5", "13 children"])])
def test_what_is_no_tree_is_one_sentence(knobs, words):
    with pytest.raises(UserError) as error:
        DecodeConfig("static", **knobs)
    said = str(error.value)
    assert all(word in said for word in words) and said.endswith(".") and "\n" not in said and len(said) < 200


def test_it_is_told_as_what_was_fixed_beforehand(golden_pair):
    trace = decode(golden_pair, PROMPT, DecodeConfig("static", max_new_tokens=9))
    for r in trace.rounds:
        told = {code: [plain(narrate(trace, r, frame, code)) for frame in frames(r)] for code in LANGUAGES}
        kinds = [frame.kind for frame in frames(r)]
        assert kinds == ["root", *["expand", "select"] * 4, "expand", "flatten", "verify", "accept", "commit"]
        said = dict(zip([f"{kind}{place}" for place, kind in enumerate(kinds)], told["en"]))
        assert "All 4 of this layer have children" in said["select2"]
        assert "of the 8 of this layer 4 have children" in said["select4"] and " alone of this layer" in said["select8"]
        assert "The 4 tokens that have children in the fixed tree" in said["expand3"]
        assert "get 8 children" in said["expand3"]
        assert "The 25 drafted tokens of the fixed tree" in said["flatten10"]
        assert not any("score" in said[f"select{place}"] or "best" in said[f"select{place}"] for place in (2, 4, 6, 8))
        assert all(text and "{" not in text.replace("“{", "") for text in told["zh"])


def test_a_rank_beyond_the_vocabulary_is_one_sentence(golden_pair):
    with pytest.raises(UserError, match="only 256 tokens"):
        decode(golden_pair, PROMPT, DecodeConfig("static", tree=[[9999]]))


def test_a_list_on_the_command_line_is_json(tmp_path, capsys):
    file, run = tmp_path / "t.json", ["run", *PAIR, *IDS, "--policy", "static", "--max-new-tokens", "8"]
    assert main([*run, "--knob", "tree=[[0],[1],[0,0]]", "--nodes", "2", "--trace", str(file), "--check"]) == 0
    trace = Trace.load(file)
    assert trace.config["tree"] == [[0], [1], [0, 0]] and trace.config["nodes"] == 2 and trace.check.lossless
    assert main(["check-trace", str(file)]) == 0
    refused(capsys, [*run, "--knob", "tree=[[0],"], "--knob is", "tree=[[0],")
    refused(capsys, [*run, "--knob", "tree=[[1,0]]"], "none of 1")
    refused(capsys, [*run, "--knob", "tree=" + "[" * 10**5], "--knob is")
