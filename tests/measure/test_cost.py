"""What a pass costs: the clock against passes of known length, the document, and where it is kept."""

import json
from pathlib import Path

import pytest
from cli import PAIR, call

from core import Trace
from core.errors import UserError
from core.measure import cost as costs
from core.measure import timing
from core.measure.cost import Cost, Curve, cost_lines, cost_of, load_cost, plain_pass, save_cost
from core.model.eagle import EagleHead
from core.model.target import Target

TRACES = Path(__file__).parents[2] / "assets/traces"


def curve(*points):
    rows, seconds = zip(*points)
    return Curve(rows=list(rows), seconds=list(seconds), low=list(seconds), high=list(seconds))


def a_cost(**changes):
    return Cost(**{"created": "2026-12-01T10:00:00Z", "pair": "toy", "machine": costs.machine(), "device": "cpu",
                   "dtype": "float32", "threads": 1, "torch": "2", "cache_length": 8, "draft_vocab": 0, "turns": 3,
                   "verify": curve((1, 2.0), (9, 4.0)), "head": curve((1, 0.5), (3, 0.75)),
                   "rest": curve((1, 0.25), (9, 0.5))} | changes)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TREEVIZ_CACHE", str(tmp_path))


class Clock:
    """Stands still but for what advances it."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(timing.time, "perf_counter", lambda: self.now)

    def advanced_by(self, monkeypatch, owner, name, seconds):
        """`owner.name` takes seconds(its arguments)."""
        kept = getattr(owner, name)

        def slow(model, *inputs, **more):
            self.now += seconds(*inputs)
            return kept(model, *inputs, **more)

        monkeypatch.setattr(owner, name, slow)


def test_each_pass_is_timed_by_its_rows_in_every_turn(golden_pair, monkeypatch):
    clock, turn = Clock(monkeypatch), []
    clock.advanced_by(monkeypatch, Target, "verify", lambda tree, cache: 0.25 * len(tree.token) + 0.001 * len(turn))
    clock.advanced_by(monkeypatch, EagleHead, "forward", lambda token_ids, *_: 0.125 * token_ids.shape[-1])
    clock.advanced_by(monkeypatch, timing.KVCache, "keep", lambda path: 0.5)
    shares = []
    for share, cost in timing.timed(golden_pair, 100, cache_length=20, rows=(3, 8)):
        turn.append(1)
        shares.append(share)
        assert (cost is None) == (len(shares) == 1)
    assert cost.verify.rows == [1, 3, 8] and cost.head.rows == list(timing.BEAM) and cost.turns == len(turn) - 1
    late = 0.001 * (1 + cost.turns) / 2  # a turn is a thousandth later than the one before, the first does not count
    assert cost.verify.seconds == pytest.approx([0.25 * n + late for n in (1, 3, 8)], abs=0.0011)
    assert cost.verify.low < cost.verify.seconds < cost.verify.high
    assert cost.head.seconds == pytest.approx([0.125 * n for n in timing.BEAM])
    assert cost.rest.seconds == pytest.approx([0.5] * 3)
    assert shares == sorted(shares) and 0.7 < shares[-1] <= 1 and clock.now < 100
    assert (cost.pair, cost.dtype, cost.device, cost.cache_length) == (golden_pair.name, "float32", "cpu", 20)


def test_an_eagle3_head_is_timed_as_any_other(eagle3_pair):
    *_, (_, cost) = timing.timed(eagle3_pair, 1e-6, cache_length=4, rows=(1, 2))
    assert cost.pair == eagle3_pair.name and all(s > 0 for s in cost.head.seconds)


def test_there_are_two_turns_however_little_time_there_is(golden_pair):
    found = [cost for _, cost in timing.timed(golden_pair, 1e-6, cache_length=4, rows=(1, 2))]
    assert found[0] is None and found[-1].turns == 1 and len(found) == 2


@pytest.mark.parametrize("asked, said", [
    ({"cache_length": 0}, "give 1 to"), ({"cache_length": 10**6}, "the context of"),
    ({"draft_vocab": 10**6}, "draft_vocab is 1000000, the head of")])
def test_what_cannot_be_timed_is_said(golden_pair, asked, said):
    with pytest.raises(UserError, match=said):
        next(timing.timed(golden_pair, 1, **asked))


def test_between_the_measured_rows_it_is_a_line_and_beyond_them_the_last_one_goes_on():
    line = curve((1, 2.0), (5, 4.0), (9, 5.0))
    assert [line.at(n) for n in (1, 3, 5, 7, 9, 13)] == [2, 3, 4, 4.5, 5, 6] and curve((2, 7.0)).at(60) == 7


def test_a_round_is_its_passes_and_the_rest():
    cost = a_cost()
    assert cost.a_round(top_k=2, depth=3, total_tokens=4) == 0.5 + 3 * 0.625 + 3.0 + 0.375
    assert cost.plain == 2.25 and cost.worth(9) == 2


def test_what_is_kept_is_found_again_and_the_newest_of_this_machine_counts(tmp_path, monkeypatch):
    assert load_cost("toy") is None
    old, new = a_cost(), a_cost(created="2026-12-02T10:00:00Z", threads=2)
    path = save_cost(old)
    assert path.parent == tmp_path / "cost" and load_cost("toy") == old
    save_cost(new)
    assert load_cost("toy") == new and load_cost("toy", threads=1) == old and load_cost("other") is None
    assert load_cost("toy", device="cuda:0") is None
    (tmp_path / "cost/odd.json").write_text("[1]")
    (tmp_path / "cost/bent.json").write_text(path.read_text().replace('"rows": [', '"rows": [9,', 1))
    assert load_cost("toy") == new
    text = path.read_text()
    assert json.loads(text)["format"] == "treeviz-cost" and Cost.model_validate_json(text) == old
    monkeypatch.setattr(costs, "machine", lambda: "another one")
    assert load_cost("toy") is None


@pytest.mark.parametrize("name", ["one/two", "../up", "a b", "größe"])
def test_any_name_of_a_pair_is_a_file_in_the_folder(name, tmp_path):
    cost = a_cost(pair=name)
    assert save_cost(cost).parent == tmp_path / "cost" and load_cost(name) == cost


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "cost").write_text("in the way")
    with pytest.raises(UserError, match="TREEVIZ_CACHE"):
        save_cost(a_cost())


def test_the_clock_of_a_run_itself():
    trace = Trace.load(TRACES / "sky.json.gz")
    cost, rounds = cost_of(trace), len(trace.rounds)
    assert cost.plain == plain_pass(trace) == (trace.check.seconds - trace.check.clock[0]) / 39
    parts = ("draft", "tree", "verify", "accept", "commit")
    assert cost.a_round(10, 5, 59) * rounds == pytest.approx(sum(trace.summary.seconds[part] for part in parts))
    assert cost_of(Trace.load(TRACES / "sampled.json.gz")) is None


def test_the_command_prints_a_table_and_keeps_it(capsys, tmp_path):
    code, out, err = call(capsys, "cost", *PAIR, "--seconds", "0.2", "--rows", "1,4,12", "--cache-length", "16")
    (path,) = (tmp_path / "cost").glob("*.json")
    cost = Cost.model_validate_json(path.read_text())
    assert code == 0 and err == "" and cost.verify.rows == [1, 4, 12]
    assert out.splitlines() == [*cost_lines(cost), f"Kept in {path}"]
    assert f"A pass over 12 rows costs {cost.verify.seconds[2] / cost.verify.seconds[0]:.1f} rows' worth" in out


@pytest.mark.parametrize("flags, said", [(["--rows", "0,1"], "--rows is '0,1'"), (["--rows", ""], "give whole numbers"),
                                         (["--seconds", "nan"], "--seconds is nan"), (["--seconds", "0"], "above 0")])
def test_flags_that_make_no_sense(capsys, flags, said):
    code, out, err = call(capsys, "cost", *PAIR, *flags)
    assert code == 2 and said in err and out == ""
