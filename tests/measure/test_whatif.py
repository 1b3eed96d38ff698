"""What-if against real decoding, against trees grown anew by hand, and against what was recorded."""

import math
import random
from pathlib import Path

import pytest
import trace_maker
from trace_maker import WORDS, make_trace, target_choices

from core import DecodeConfig, Trace, decode, load_named
from core.errors import UserError
from core.measure.whatif import WhatIf
from core.policies.eagle2 import candidate_count

TRACES = Path(__file__).parents[2] / "assets/traces"
GREEDY = ("arithmetic", "code", "deep", "lost", "sky", "sky-small", "split-characters", "wide")
SHAPES = [(10, 5, 30), (10, 5, 8), (10, 5, 1), (10, 3, 59), (10, 2, 20), (10, 0, 10),  # top_k, depth, total_tokens
          (6, 5, 59), (4, 4, 16), (2, 5, 12), (1, 5, 6)]
STORIES = ("Once upon a time", "The little dog", "Ben and his sister went to the sea.")


@pytest.mark.parametrize("name", GREEDY)
def test_at_the_recorded_setting_it_is_what_was_recorded(name):
    trace = Trace.load(TRACES / f"{name}.json.gz")
    what = WhatIf(trace)
    found = what.at()
    assert found.low == found.high == [r.accept.length for r in trace.rounds] and found.exact
    assert found.tau == (pytest.approx(trace.summary.tau),) * 2
    for outlook, r in zip(what.outlooks(), trace.rounds):
        assert outlook.kept(what.total_tokens) == (r.tree.candidate[1:], []) and outlook.ghosts == []


def test_every_greedy_recording_is_asked():
    traces = {path.name.removesuffix(".json.gz"): Trace.load(path).config for path in TRACES.glob("*.gz")}
    assert {n for n, c in traces.items() if c["policy"] == "eagle2" and c["temperature"] == 0} == set(GREEDY)


@pytest.fixture(scope="module")
def storybook():
    return load_named("storybook", device="cpu")


@pytest.mark.parametrize("prompt", STORIES)
def test_rounds_that_start_at_the_same_place_accept_what_was_predicted(storybook, prompt):
    ids, length = storybook.tokenizer(prompt)["input_ids"], 48
    recorded = decode(storybook, ids, DecodeConfig(max_new_tokens=length))
    what = WhatIf(recorded)
    at = {r.prefix_length: i for i, r in enumerate(recorded.rounds)}
    same = 0
    for shape in SHAPES:
        predicted = what.at(*shape)
        knobs = dict(zip(("top_k", "depth", "total_tokens"), shape))
        real = decode(storybook, ids, DecodeConfig(**knobs, max_new_tokens=length))
        for r in real.rounds:
            if (i := at.get(r.prefix_length)) is None:
                continue
            low, high, said = predicted.low[i], predicted.high[i], r.accept.length
            assert low <= said <= high and (i == len(at) - 1 or low == high), (shape, r.prefix_length)
            outlook = what.outlooks(*shape[:2])[i]
            if not outlook.ghosts:  # the very tree
                c = recorded.rounds[i].candidates
                kept, maybe = outlook.kept(shape[2])
                assert sorted(c.token[j - 1] for j in kept) == sorted(r.tokens[1:]) and maybe == []
            same += 1
    assert same >= 3 * len(SHAPES)  # some three places a setting, the first of them in any case


# -- by hand: trees of the invented language, grown anew ------------------------------------------------

KNOBS = {"top_k": 5, "depth": 3, "total_tokens": 20}
SMALLER = [(k, d, n) for k in (1, 2, 3, 4, 5) for d in (0, 1, 2, 3) for n in (1, 2, 4, 7, 12, 20, 60)
           if n <= candidate_count(k, d)]


def grown(context, root, top_k, depth, total):
    """Paths of tokens that the re-rank keeps: every list written out, nothing clever."""
    everything, beam = [], [((), 0.0)]
    for _ in range(depth + 1):
        fresh = [((*path, token), round(score + p, 6)) for path, score in beam
                 for token, p in trace_maker.head_choices([*context, root, *path], len(WORDS), top_k)]
        everything += fresh
        beam = sorted(fresh, key=lambda node: -node[1])[:top_k]
    return {path for path, _ in sorted(everything, key=lambda node: -node[1])[:total]}


def moody(context, words, top_k):
    """A head that has one idea at some places, two at others, or none, so that other beams feed other nodes."""
    rng = random.Random(f"moody {context[-3:]}")
    weights = rng.choice(([1.0] * 12, [20.0, 19.0] + [0.1] * 10, [20.0] + [0.3] * 11))
    tokens = [token for token, _ in target_choices(context, words)]
    p = sorted((w * rng.uniform(0.9, 1) / (sum(weights) + 1) for w in weights), reverse=True)
    return [(token, round(math.log(share), 6)) for token, share in zip(tokens, p)][:top_k]


def accepted(context, root, kept):
    path = ()
    while (said := (*path, target_choices([*context, root, *path], len(WORDS))[0][0])) in kept:
        path = said
    return len(path)


@pytest.mark.parametrize("start", [(0, 1, 2, 3), (9, 4, 17), (30, 31, 32)])
def test_bounds_hold_and_what_is_exact_is_right(start, monkeypatch):
    monkeypatch.setattr(trace_maker, "head_choices", moody)
    trace = make_trace(prompt=start, rounds=25, **KNOBS)
    what, exact, ghosts, wide = WhatIf(trace), 0, 0, 0
    everything = [all_paths(r.candidates) for r in trace.rounds]
    text = [*start, trace.rounds[0].root, *(token for r in trace.rounds for token in r.decided)]
    for shape in SMALLER:
        found = what.at(*shape)
        for i, r in enumerate(trace.rounds):
            kept = grown(text[: r.prefix_length], r.root, *shape)
            truth, low, high = accepted(text[: r.prefix_length], r.root, kept), found.low[i], found.high[i]
            assert low <= truth <= high, (shape, i)
            outlook, c = what.outlooks(*shape[:2])[i], r.candidates
            told = [{path_to(c, j) for j in ids} for ids in outlook.kept(shape[2])]
            assert told[0] <= kept
            if outlook.ghosts:
                ghosts += 1
                assert kept & everything[i] <= told[0] | told[1]
            else:
                assert kept == told[0] and not told[1]
            exact, wide = exact + (low == high), wide + (low < high)
    assert exact > 20 * wide and ghosts > 100, (exact, wide, ghosts)


@pytest.mark.parametrize("top_k", [2, 3])
def test_where_the_beam_itself_is_uncertain_the_trees_lie_between(top_k, monkeypatch):
    """Deep and narrow, so that ghosts compete with what was recorded for more than one layer."""
    monkeypatch.setattr(trace_maker, "head_choices", moody)
    uncertain = 0
    for start in range(24):
        prompt = (start, start + 1, start + 2)
        trace = make_trace(prompt=prompt, rounds=12, top_k=4, depth=5, total_tokens=20)
        text = [*prompt, trace.rounds[0].root, *(token for r in trace.rounds for token in r.decided)]
        for r, outlook in zip(trace.rounds, WhatIf(trace).outlooks(top_k)):
            if not outlook.ghosts:
                continue
            for total in (5, 12, 22):
                kept, recorded = grown(text[: r.prefix_length], r.root, top_k, 5, total), all_paths(r.candidates)
                sure, maybe = ({path_to(r.candidates, j) for j in ids} for ids in outlook.kept(total))
                assert sure <= kept and kept & recorded <= sure | maybe
                low, high = outlook.accepted(total)
                assert low <= accepted(text[: r.prefix_length], r.root, kept) <= high
                uncertain += bool(maybe)
    assert uncertain > 50, uncertain


def path_to(c, node):
    return (*path_to(c, c.parent[node - 1]), c.token[node - 1]) if node else ()


def all_paths(c):
    return {path_to(c, j) for j in range(1, len(c.token) + 1)}


def test_where_the_text_ends_a_longer_run_lies_within_the_bounds(monkeypatch):
    """The whole of a run that was cut off knows what came next."""
    monkeypatch.setattr(trace_maker, "head_choices", moody)
    whole, bounded = make_trace(rounds=30, **KNOBS | {"total_tokens": 3}), 0  # much is scored and fed, and not kept
    known = WhatIf(whole)
    for end in range(4, 30, 3):
        cut = WhatIf(Trace.from_text("".join([*whole.lines()][: end + 1])))
        for shape in SMALLER:
            near, far = cut.at(*shape), known.at(*shape)
            for i in range(end):
                assert near.low[i] <= far.low[i] and far.high[i] <= near.high[i], (end, shape, i)
                bounded += near.low[i] < near.high[i]
    assert bounded > 5, bounded


def test_the_curve_is_what_at_says_and_never_falls():
    what = WhatIf(make_trace(rounds=12, **KNOBS))
    curve = what.curve(depth=2)
    assert len(curve) == candidate_count(5, 2) and [low for low, _ in curve] == sorted(low for low, _ in curve)
    assert curve[11] == what.at(depth=2, total_tokens=12).tau and what.at(depth=2, total_tokens=10_000).tau == curve[-1]


@pytest.mark.parametrize("knobs", [{"policy": "chain", "length": 3}, {"temperature": 1.0}, {"policy": "plain"}])
def test_other_runs_are_refused(knobs):
    with pytest.raises(UserError, match="what-if reads greedy runs of eagle2"):
        WhatIf(make_trace(**knobs))


@pytest.mark.parametrize("asked", [{"top_k": 6}, {"top_k": 0}, {"depth": 4}, {"depth": -1}, {"total_tokens": 0}])
def test_what_was_not_recorded_is_refused(asked):
    with pytest.raises(UserError, match="give"):
        WhatIf(make_trace(**KNOBS)).at(**asked)
