"""Trees that are searched for: by rates, held against brute force and golden values; by the head, against a heap."""

import heapq
import json
import math
from itertools import product

import pytest
from test_fixed_trees import GOLDEN, after, drafted_as, golden
from test_policy_trees import PROMPT

from core import DecodeConfig, decode
from core.errors import UserError
from core.policies.sequoia import PRINTED, best_tree
from core.trace import Trace
from treeviz.story.frames import frames
from treeviz.story.language import LANGUAGES
from treeviz.story.narrate import narrate, plain


def rows_of(case):
    rates = case["rates"] if isinstance(case["rates"][0], list) else [case["rates"]]
    return tuple(tuple(row[: case["max_branches"]]) for row in rates)


def worth(paths, rates):
    """1 and the products along the paths, written out."""
    return 1 + sum(math.prod(rates[min(depth, len(rates) - 1)][rank] for depth, rank in enumerate(path))
                   for path in paths)


def closed(paths):
    known = {(), *paths}
    return len(known) == len(paths) + 1 and all(
        path[:-1] in known and (path[-1] == 0 or (*path[:-1], path[-1] - 1) in known) for path in paths)


@golden("sequoia")
def test_values_are_the_golden_ones_and_the_tree_is_worth_its_value(case):
    rates, last = rows_of(case), 0
    for nodes in [*range(1, 34), 40, 64]:
        layers = case["max_layers"] or nodes
        value, paths = best_tree(nodes, layers, rates)
        expected = case["value_by_nodes"][nodes + 1]
        if expected is None:
            assert value == -math.inf and paths == ()
            continue
        assert value == pytest.approx(expected, abs=1e-6) and value > last
        assert len(paths) == nodes and closed(paths) and max(map(len, paths)) <= layers
        assert worth(paths, rates) == pytest.approx(value)
        last = value


def every_tree(nodes, layers, ranks, cache={}):  # noqa: B006
    """All closed trees of so many drafted nodes as tuples of paths, the slow way: one node after another."""
    if nodes == 0:
        return {frozenset()}
    key = nodes, layers, ranks
    if key not in cache:
        cache[key] = {tree | {path} for tree in every_tree(nodes - 1, layers, ranks) for above in [(), *tree]
                      for rank in range(ranks) if (path := (*above, rank)) not in tree and len(path) <= layers
                      and (rank == 0 or (*above, rank - 1) in tree)}
    return cache[key]


@pytest.mark.parametrize("rates", [((0.1, 0.5, 0.2),), ((0.6, 0.2, 0.05), (0.3, 0.31, 0.1), (0.9, 0.0, 0.01)),
                                   ((0.0, 0.0, 1.0),)])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_value_is_that_of_the_best_of_all_trees(rates, layers):
    for nodes in range(1, 9):
        trees = every_tree(nodes, layers, 3)
        value, _ = best_tree(nodes, layers, rates)
        assert value == pytest.approx(max((worth(tree, rates) for tree in trees), default=-math.inf))


@pytest.mark.parametrize(("policy", "knobs", "words"), [
    ("sequoia", dict(nodes=7, layers=2, rates=[[0.5, 0.2]]), ["no tree of 7 nodes in 2 layers", "2 ranks"]),
    ("sequoia", dict(rates=[0.5]), ["rates is [0.5]", "from 0 to 1"]), ("sequoia", dict(rates=[[1.5]]), ["1.5"]),
    ("sequoia", dict(rates=[[math.nan]]), ["nan"]), ("sequoia", dict(nodes=1001), ["nodes is 1001", "1000 or less"]),
    ("sequoia", dict(rates=[[0.001] * 101]), ["101 ranks"]),
    ("cartesian", dict(widths=[32, 32]), ["more than 1,000 nodes"]),
    ("cartesian", dict(widths=[1] * 9999), ["1,000 nodes"]),
    ("cartesian", dict(widths=[3, 0]), ["[3, 0]", "from 1"]), ("cartesian", dict(widths=3), ["widths is 3"]),
    ("optimal", dict(nodes=0), ["nodes is 0"]), ("optimal", dict(layers=0), ["layers is 0"])])
def test_what_has_no_tree_is_one_sentence(policy, knobs, words):
    with pytest.raises(UserError) as error:
        DecodeConfig(policy, **knobs)
    assert all(word in str(error.value) for word in words) and str(error.value).endswith(".")


@pytest.mark.parametrize("which", ["golden_pair", "weak_pair"])
def test_they_draft_what_they_say(which, request):
    pair = request.getfixturevalue(which)
    cases = json.loads((GOLDEN / "medusa.json").read_text())["cases"]
    case = next(case for case in cases if case["name"] == "cartesian 3x2x2")
    for config, paths in ((DecodeConfig("cartesian", widths=[3, 2, 2], max_new_tokens=6), case["choices"]),
                          (DecodeConfig("sequoia", max_new_tokens=6), best_tree(25, 6, PRINTED)[1])):
        trace = decode(pair, PROMPT, config)
        drafted_as(pair, trace, trace.rounds[0], paths)
        assert len(trace.rounds[-1].tree.parent) == len(paths) + 1 and Trace.from_text(trace.to_lines()) == trace


@pytest.mark.parametrize("which", ["golden_pair", "weak_pair"])
@pytest.mark.parametrize(("nodes", "layers"), [(1, 3), (6, 1), (9, 3), (12, 4)])
def test_the_likeliest_nodes_are_those_of_a_heap(which, nodes, layers, request):
    """One node after another, the best of all that are known, the head asked anew for each."""
    pair = request.getfixturevalue(which)
    trace = decode(pair, PROMPT, DecodeConfig("optimal", nodes=nodes, layers=layers, max_new_tokens=6))
    for r in trace.rounds[:2]:
        ids = [*trace.prompt.token_ids, *trace.output.token_ids][: r.prefix_length + 1]
        heap, best = [(0.0, ())], []
        while len(best) <= nodes:
            score, tokens = heapq.heappop(heap)
            best.append(tokens)
            if len(tokens) < layers:
                said = after(pair, ids, list(tokens)).topk(nodes)
                for log_prob, token in zip(said.values.tolist(), said.indices.tolist()):
                    heapq.heappush(heap, (score - log_prob, (*tokens, token)))
        tokens, found = r.tokens, {()}
        for row in range(1, nodes + 1):
            path, at = (), row
            while at:
                path, at = (tokens[at], *path), r.tree.parent[at]
            found.add(path)
        assert found == set(best)
        assert len(r.candidates.token) <= nodes * layers


@pytest.mark.parametrize(("policy", "words"), [("cartesian", "In a product of widths all 3"),
                                               ("sequoia", "The rates have decided"),
                                               ("optimal", "among the best of all")])
def test_each_is_told_in_words_of_its_own(policy, words, golden_pair):
    trace = decode(golden_pair, PROMPT, DecodeConfig(policy, max_new_tokens=9))
    said = [plain(narrate(trace, r, frame)) for r in trace.rounds for frame in frames(r)]
    assert any(words in text for text in said)
    for code, r in product(LANGUAGES, trace.rounds):
        assert all(plain(narrate(trace, r, frame, code)) for frame in frames(r))
