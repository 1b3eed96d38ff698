"""Why a round ended, what the head's confidence is worth, what a fixed shape would have done: against brute force."""

import itertools
import math
from pathlib import Path

import pytest
from trace_maker import make_trace

from core import Trace
from core.measure import lost
from core.measure.calibration import Bin, calibration, wilson
from core.measure.lost import losses
from core.measure.shapes import static
from core.measure.wanted import wanted
from core.measure.whatif import WhatIf

TRACES = Path(__file__).parents[2] / "assets/traces"
RECORDED = {path.name.removesuffix(".json.gz"): Trace.load(path) for path in sorted(TRACES.glob("*.gz"))}
MADE = {"wide": make_trace(rounds=20, top_k=5, depth=2, total_tokens=12),
        "narrow": make_trace(rounds=20, top_k=2, depth=4, total_tokens=4),
        "sampled": make_trace(rounds=20, temperature=1.0), "chain": make_trace(rounds=9, policy="chain", length=3),
        "plain": make_trace(rounds=4, policy="plain")}
EVERY = list((RECORDED | MADE).items())


def paths_of(r):
    """Candidate id -> the tokens that lead to it, itself the last."""
    paths = {0: ()}
    for i, (parent, token) in enumerate(zip(r.candidates.parent, r.candidates.token), start=1):
        paths[i] = (*paths[parent], token)
    return paths


def text_after(trace):
    """Everything that the run decided after each round's root."""
    said = [token for r in trace.rounds for token in r.decided]
    starts = itertools.accumulate((len(r.decided) for r in trace.rounds), initial=0)
    return [tuple(said[start:]) for start in starts][:-1]


@pytest.mark.parametrize("name, trace", EVERY)
def test_what_the_target_wanted_is_the_text(name, trace):
    for tokens, text, r in zip(wanted(trace), text_after(trace), trace.rounds, strict=True):
        assert tuple(tokens) == text[: len(r.layers) + 1]


@pytest.mark.parametrize("name, trace", EVERY)
def test_every_round_ended_for_the_reason_that_the_sets_of_paths_say(name, trace):
    out = 1
    for loss, r in zip(losses(trace), trace.rounds, strict=True):
        paths, kept = paths_of(r), set(r.tree.candidate)
        accepted = tuple(r.committed[1:])
        here = (*accepted, r.accept.bonus)
        scored, fed = set(paths.values()), {paths[i] for layer in r.layers for i in layer.expanded}
        out += len(here)
        if out > len(trace.output.token_ids):
            expected = lost.ENDED
        elif here in scored:
            assert not any(paths[i] == here for i in kept)
            expected = lost.CUT
        elif accepted in fed:
            expected = lost.UNSCORED
        else:
            at_the_end = lost.DEPTH if len(accepted) == len(r.layers) else lost.UNEXPANDED
            expected = at_the_end if r.layers else lost.UNDRAFTED
        assert (loss.reason, loss.round) == (expected, r.index)
        assert (*paths[loss.after], loss.wanted) == here


def test_the_reasons_of_the_recorded_runs():
    found = {reason for trace in RECORDED.values() for reason in lost.counts(losses(trace))}
    assert found == {lost.ENDED, lost.CUT, lost.UNSCORED, lost.DEPTH, lost.UNEXPANDED}
    assert lost.counts(losses(RECORDED["arithmetic"])) == {"cut": 5, "unscored": 3, "depth": 2, "unexpanded": 2}
    assert lost.counts(losses(MADE["plain"])) == {"undrafted": 4}


@pytest.mark.parametrize("name", ["arithmetic", "deep", "sky", "sky-small", "wide"])
def test_what_was_cut_is_kept_with_as_many_nodes_as_its_rank(name):
    trace = RECORDED[name]
    cut = [loss for loss in losses(trace) if loss.reason == lost.CUT]
    assert cut
    for loss in cut:
        length, outlook = trace.rounds[loss.round].accept.length, WhatIf(trace).outlooks()[loss.round]
        assert outlook.accepted(loss.rank - 1) == (length, length) and outlook.accepted(loss.rank)[0] == length + 1
        assert loss.score <= loss.cutoff == trace.rounds[loss.round].tree.cutoff
        assert loss.candidate in outlook.kept(loss.rank)[0]


@pytest.mark.parametrize("name, trace", EVERY)
def test_calibration_is_a_count(name, trace):
    expected = [[0, 0, 0.0] for _ in range(5)]
    for r, text in zip(trace.rounds, text_after(trace)):
        for i, path in paths_of(r).items():
            if not i or (path[: len(text)] == text and len(path) > len(text)):
                continue  # behind the end of the text
            p = math.exp(r.candidates.score[i - 1])
            row = expected[min(int(p * 5), 4)]
            row[0], row[1], row[2] = row[0] + 1, row[1] + (text[: len(path)] == path), row[2] + p
    for i, (found, (count, said, total)) in enumerate(zip(calibration([trace], 5), expected, strict=True)):
        assert (found.count, found.said, found.low, found.high) == (count, said, i / 5, (i + 1) / 5)
        assert found.promised == pytest.approx(total / count if count else 0)


def test_several_runs_are_added_up_and_nothing_is_nothing():
    one, two = MADE["wide"], MADE["narrow"]
    assert [(b.count, b.said) for b in calibration([one, two])] == [
        (a.count + b.count, a.said + b.said) for a, b in zip(calibration([one]), calibration([two]))]
    assert calibration([], 2) == [Bin(0, 0.5, 0, 0, 0.0), Bin(0.5, 1, 0, 0, 0.0)]
    assert calibration([])[0].share is None and calibration([])[0].interval is None


def test_wilson_covers_what_95_of_100_shares_are():
    """All numbers of hits that n draws may have, weighed by how likely they are."""
    for n, p in ((20, 0.3), (50, 0.05), (50, 0.5), (200, 0.9)):
        covered = sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)
                      if wilson(k, n)[0] <= p <= wilson(k, n)[1])
        assert 0.92 < covered < 0.985, (n, p, covered)
    assert wilson(0, 10) == (0, pytest.approx(0.2775, abs=1e-4)) and wilson(10, 10)[1] == pytest.approx(1)


# -- shapes ---------------------------------------------------------------------------------------------

def rank_paths(trace):
    """Of each round's text the ranks among siblings, from 1, as far as it was scored."""
    found = []
    for r, text in zip(trace.rounds, text_after(trace)):
        paths, ranks, at = paths_of(r), [], ()
        for token in text:
            siblings = [paths[i][-1] for i in range(1, len(paths)) if paths[i][:-1] == at]
            if token not in siblings:
                break
            ranks.append(siblings.index(token) + 1)
            at = (*at, token)
        found.append(tuple(ranks))
    return found


def inside(path, shape):
    return len(list(itertools.takewhile(lambda n: path[:n] in shape, range(1, len(path) + 1))))


def best_of_all(paths, size):
    """The most that any closed shape of `size` nodes accepts, by trying each."""
    nodes = sorted({path[:n] for path in paths for n in range(1, len(path) + 1)})
    closed = (set(shape) for n in range(size + 1) for shape in itertools.combinations(nodes, n)
              if all(len(node) == 1 or node[:-1] in shape for node in shape))
    return max(sum(inside(path, shape) for path in paths) for shape in closed)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["narrow", "chain", "sampled"])
def test_no_shape_of_the_size_accepts_more(name, size):
    trace = MADE[name]
    paths, found = rank_paths(trace), static(trace, size)
    assert sum(found.accepted) == best_of_all(paths, size)
    assert len(found.shape) <= size and all(len(node) == 1 or node[:-1] in found.shape for node in found.shape)
    assert found.accepted == [inside(path, found.shape) for path in paths]
    for i, blind in enumerate(found.blind):  # as if the round had not been there
        others = [path for j, path in enumerate(paths) if j != i]
        nodes = {path[:n] for path in others for n in range(1, len(path) + 1)}
        count = {node: sum(path[: len(node)] == node for path in others) for node in nodes}
        chosen = sorted(count, key=lambda node: (-count[node], len(node), node))[:size]
        assert blind == inside(paths[i], chosen)


def test_beside_the_dynamic_trees():
    for name, trace in RECORDED.items():
        found = static(trace)
        assert found.dynamic == [r.accept.length for r in trace.rounds]
        assert found.tau_dynamic == pytest.approx(trace.summary.tau) and found.tau_blind <= found.tau, name
        assert found.size == max(len(r.tree.candidate) for r in trace.rounds) - 1
    assert static(RECORDED["lost"]).shape == [(4,)] and static(RECORDED["deep"]).unknown == 13
    assert static(MADE["plain"]).tau == 1 and static(MADE["plain"]).shape == []


def test_with_room_for_every_path_it_accepts_all_that_was_scored():
    for trace in MADE.values():
        assert static(trace, 1000).accepted == [len(path) for path in rank_paths(trace)]
