"""A sweep: what is estimated, what is run, what is kept when it is stopped, and what it says in the end."""

import json
import random

import pytest
from cli import PAIR, call
from test_cost import a_cost, curve

from core import DecodeConfig, decode, generate
from core.errors import UserError
from core.measure import sweep as sweeping
from core.measure.grid import grid, sums
from core.measure.sweep import begin, go_on
from core.measure.swept import Ran, Recorded, Sweep, sweep_lines
from core.measure.whatif import WhatIf

PROMPTS = [[5, 17, 3, 8], [7, 9], [1, 115, 57]]
SHAPES = grid((1, 2, 3), (0, 2), (1, 3, 6, 12))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TREEVIZ_CACHE", str(tmp_path / "cache"))


def done(pair, **settings):
    found = begin(pair, PROMPTS, SHAPES, a_cost(), 12)
    steps = list(go_on(pair, found, **settings))
    return found, steps


def test_it_records_each_prompt_once_and_runs_the_best_in_turns_with_plain_decoding(golden_pair):
    found, steps = done(golden_pair, best=2, turns=3)
    largest = DecodeConfig(top_k=3, depth=2, total_tokens=12, max_new_tokens=12)
    for one, ids in zip(found.recorded, PROMPTS, strict=True):
        trace = decode(golden_pair, ids, largest)
        assert one.rounds == len(trace.rounds) and list(one.accepted) == sums(WhatIf(trace), SHAPES)
    shapes = [None, *found.promising(2)]
    assert {(run.prompt, run.turn, run.shape) for run in found.ran} == {
        (prompt, turn, shape) for prompt in range(3) for turn in range(3) for shape in shapes} and len(found.ran) == 27
    assert {run.shape for run in found.ran[::3]} == set(shapes), "what a turn begins with changes"
    for run in found.ran:  # the first token is the prompt's
        assert run.tokens == len(generate(golden_pair, PROMPTS[run.prompt], largest)) - 1
        assert run.rounds == run.tokens if run.shape is None else run.rounds <= run.tokens
    shares = [step.share for step in steps]
    assert shares == sorted(shares) and 0 <= shares[0] < shares[-1] < 1
    assert steps[0].told() == "Recording prompt 1" and steps[-1].told().startswith("Turn 3, prompt 3: ")
    assert [(s.prompt, s.turn, s.shape) for s in steps if s.turn is not None] == [
        (r.prompt, r.turn, r.shape) for r in found.ran]


@pytest.mark.parametrize("after", [1, 4, 9, 20])
def test_stopped_anywhere_it_goes_on_from_its_file(golden_pair, tmp_path, monkeypatch, after):
    whole, _ = done(golden_pair, best=2, turns=2)
    found, path = begin(golden_pair, PROMPTS, SHAPES, a_cost(), 12), tmp_path / "s.json"
    steps = go_on(golden_pair, found, best=2, turns=2)
    for _ in range(after):
        next(steps)
    steps.close()
    found.save(path)
    again, recorded, ran = Sweep.load(path), [], []
    assert again == found
    for name, heard in (("stream", recorded), ("_run", ran)):
        kept = getattr(sweeping, name)
        monkeypatch.setattr(sweeping, name, lambda *job, heard=heard, kept=kept: heard.append(job) or kept(*job))
    list(go_on(golden_pair, again, best=2, turns=2))
    assert again.recorded == whole.recorded
    assert len(recorded) == 3 - len(found.recorded) and len(ran) == 18 - len(found.ran)
    assert {(r.prompt, r.turn, r.shape) for r in again.ran} == {(r.prompt, r.turn, r.shape) for r in whole.ran}


def test_the_estimates_are_tau_and_the_cost_curve():
    found = a_sweep(shapes=[(1, 0, 1), (2, 1, 3)], recorded=[
        Recorded(prompt=0, rounds=3, accepted=[(1, 1), (4, 6)]),
        Recorded(prompt=1, rounds=5, accepted=[(2, 2), (3, 5)])])
    one, two = found.cells()
    assert (one.tau_low, one.tau_high, two.tau_low, two.tau_high) == (1 + 3 / 8, 1 + 3 / 8, 1 + 7 / 8, 1 + 11 / 8)
    assert one.seconds == 0.5 + 2.25 + 0.25 + 0.25 / 8
    assert one.speedup == pytest.approx(one.tau_low * 2.25 / one.seconds)
    assert found.promising(5) == [shape for _, shape in sorted([(-one.speedup, one.shape), (-two.speedup, two.shape)])]


def test_of_a_top_k_and_a_depth_only_the_fastest_is_tried():
    cost = a_cost(verify=curve((1, 1.0), (9, 9.0)), rest=curve((1, 0.0)), head=curve((1, 0.0)))
    found = a_sweep(shapes=[(2, 1, 1), (2, 1, 2), (2, 2, 1)], cost=cost,
                    recorded=[Recorded(prompt=0, rounds=1, accepted=[(2, 2), (5, 5), (1, 1)])])
    assert found.promising(9) == [(2, 1, 2), (2, 2, 1)] and found.promising(1) == [(2, 1, 2)]


def test_one_tree_under_two_names_is_tried_once():
    shapes, accepted = [(1, 1, 1), (2, 1, 1), (3, 1, 2), (4, 1, 2)], [(3, 3), (3, 3), (4, 4), (5, 5)]
    found = a_sweep(shapes=shapes, recorded=[Recorded(prompt=0, rounds=9, accepted=accepted)])
    assert set(found.promising(9)) == {(1, 1, 1), (3, 1, 2), (4, 1, 2)}


def ran(shape, *runs):
    return [Ran(prompt=prompt, turn=turn, shape=shape, tokens=tokens, seconds=seconds, rounds=rounds)
            for prompt, turn, tokens, seconds, rounds in runs]


def a_sweep(*runs, **changes):
    return Sweep(**{"created": "", "max_new_tokens": 9, "prompts": [[1], [2]], "shapes": [(2, 1, 3), (1, 0, 1)],
                    "cost": a_cost(), "ran": [run for some in runs for run in some],
                    "recorded": [Recorded(prompt=0, rounds=4, accepted=[(4, 4), (1, 1)])]} | changes)


PLAIN = ran(None, (0, 0, 10, 10.0, 10), (1, 0, 20, 10.0, 20))


def test_what_was_run_is_held_against_plain_decoding_in_the_same_turns():
    found = a_sweep(PLAIN, ran((2, 1, 3), (0, 0, 10, 4.0, 5), (1, 0, 20, 6.0, 5), (1, 9, 99, 0.1, 9)),
                    ran((1, 0, 1), (0, 0, 10, 20.0, 9)))
    best, other = found.tried()
    assert (best.top_k, best.depth, best.total_tokens) == (2, 1, 3)  # what nobody decoded plainly does not count
    assert (best.speedup, best.tau) == (pytest.approx((30 / 10) / (30 / 20)), 3) and best.tokens_per_second == 3
    assert other.speedup == other.low == other.high == 0.5
    assert best.low == pytest.approx(10 / 6) and best.high == pytest.approx(10 / 4), "either prompt alone, at the ends"


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    chance, hits = random.Random(5), 0
    for _ in range(60):
        both = [(prompt, 0, 10, 10 / chance.lognormvariate(0.4, 0.3), 5) for prompt in range(12)]
        plain = [(prompt, 0, 10, 10.0, 10) for prompt in range(12)]
        (one,) = a_sweep(ran(None, *plain), ran((2, 1, 3), *both)).tried()
        truth = 1 / 2.718281828 ** (-0.4 + 0.045)  # one by the mean of the seconds
        hits += one.low <= truth <= one.high
    assert 48 <= hits <= 60


@pytest.mark.parametrize("seconds, said", [
    ((4.0, 6.0), "Best: top_k 2, depth 1, total_tokens 3, 2.00 x plain decoding (1.67 to 2.50)."),
    ((40.0, 60.0), "No setting pays here: the best, top_k 2, depth 1, total_tokens 3, is 0.20 x"),
    ((20.0, 5.0), "whether it pays at all is within the noise, measure more turns."),
])
def test_the_last_line_says_which_and_whether_it_pays(seconds, said):
    runs = ran((2, 1, 3), (0, 0, 10, seconds[0], 5), (1, 0, 20, seconds[1], 5))
    assert said in list(sweep_lines(a_sweep(PLAIN, runs)))[-1]


def test_the_map_has_every_cell_and_colours_where_there_are_some():
    lines, (two, one) = list(sweep_lines(a_sweep())), a_sweep().cells()
    assert lines[2:5] == ["depth      1     3", f"    0 {one.speedup:6.2f}      ", f"    1       {two.speedup:6.2f}"]
    assert lines[6:] == ["depth      1     3", "    0   1.25      ", "    1         2.00"]
    both = a_sweep(shapes=[(1, 0, 1), (2, 0, 1)], recorded=[Recorded(prompt=0, rounds=4, accepted=[(1, 1), (3, 3)])])
    assert list(sweep_lines(both))[-1] == "    0   1.75", "at the best top_k"
    assert "\x1b[48;5;" in "".join(sweep_lines(a_sweep(), colour=True)) and "\x1b" not in "".join(lines)
    empty = a_sweep(recorded=[])
    assert list(sweep_lines(empty)) == ["Nothing is known yet: no round was recorded."] and empty.promising(3) == []


def test_nothing_to_sweep_is_a_sentence(golden_pair, monkeypatch):
    for prompts, shapes in (([], SHAPES), (PROMPTS, [])):
        with pytest.raises(UserError, match="nothing to sweep"):
            begin(golden_pair, prompts, shapes, a_cost(), 9)
    with pytest.raises(UserError, match="Nothing was drafted"):  # one token, and the prompt gives it
        list(go_on(golden_pair, begin(golden_pair, PROMPTS, SHAPES, a_cost(), 1)))
    with pytest.raises(UserError, match="outside the vocabulary"):
        begin(golden_pair, [[10**6]], SHAPES, a_cost(), 9)


# -- the command ------------------------------------------------------------------------------------------

SMALL = ["--top-k", "1,2", "--depth", "0,1", "--total-tokens", "1,4", "--max-new-tokens", "8", "--best", "1",
         "--turns", "2"]


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Flags of a sweep of the golden pair, whose prompts are ids."""
    import core.cli.measuring as command
    monkeypatch.setattr(command, "TIMING", 0.01)
    monkeypatch.setattr(command, "_encoded", lambda _, texts, chat: [[*map(int, text.split(","))] for text in texts])
    (tmp_path / "p.jsonl").write_text('{"prompt": "5,17,3"}\n{"prompt": "7,9"}\n')
    return [*PAIR, "--prompts", tmp_path / "p.jsonl", *SMALL, "--out", tmp_path / "s.json"]


def test_the_command_stopped_and_gone_on_with(capsys, asked, tmp_path, monkeypatch):
    runs, kept = [], sweeping._run

    def third_is_interrupted(*job):
        runs.append(job)
        if len(runs) == 3:
            raise KeyboardInterrupt
        return kept(*job)

    monkeypatch.setattr(sweeping, "_run", third_is_interrupted)
    code, out, err = call(capsys, "sweep", *asked)
    assert code == 130 and "stopped" in err and f"Kept in {tmp_path / 's.json'}" in out
    assert len(Sweep.load(tmp_path / "s.json").ran) == 2
    code, out, err = call(capsys, "sweep", *asked)
    assert code == 2 and "is there already; give --resume" in err
    code, out, err = call(capsys, "sweep", *asked, "--resume", "--max-new-tokens", "9")
    assert code == 2 and "is a sweep with other max new tokens" in err
    code, out, err = call(capsys, "sweep", *asked, "--resume")
    document = json.loads((tmp_path / "s.json").read_text())
    assert code == 0 and len(document["ran"]) == 8 == len(runs) - 1
    assert document["best"] == document["tried"][0] and len(document["cells"]) == len(document["shapes"])
    assert out.splitlines() == [*sweep_lines(Sweep.load(tmp_path / "s.json")), f"Kept in {tmp_path / 's.json'}"]


@pytest.mark.parametrize("flags, said", [(["--top-k", "0"], "--top-k is '0'"), (["--depth", ""], "--depth is ''"),
                                         (["--turns", "0"], "--turns is 0"), (["--resume"], "to go on with")])
def test_flags_that_make_no_sense(capsys, asked, flags, said):
    code, out, err = call(capsys, "sweep", *asked, *flags)
    assert code == 2 and said in err and out == ""
