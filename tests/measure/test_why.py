"""Why a run paid, or not, in words; and many settings at once."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli import call
from test_cost import a_cost, curve
from trace_maker import make_trace, trace_with_first_token

from core import Trace
from core.measure.cost import cost_of, save_cost
from core.measure.grid import Cell, cells, everything_below, grid, sums
from core.measure.lost import REASONS, counts, losses
from core.measure.whatif import WhatIf
from core.measure.why import WORDS, paid, why_lines
from core.policies.eagle2 import candidate_count

ROOT = Path(__file__).parents[2]
TRACES = {path.name.removesuffix(".json.gz"): path for path in (ROOT / "assets/traces").glob("*.gz")}


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TREEVIZ_CACHE", str(tmp_path))


def lines_of(name, cost=None):
    return list(why_lines(Trace.load(TRACES[name]), cost))


def test_it_paid_or_not_by_the_runs_own_clock():
    trace = Trace.load(TRACES["sky"])
    clock = trace.check.clock
    plain = (clock[-1] - clock[0]) / (len(clock) - 1)
    rounds = sum(sum(vars_of(r.seconds)) for r in trace.rounds) / len(trace.rounds)
    speedup, passes = trace.summary.tau * plain / rounds, rounds / plain
    first = lines_of("sky")[0]
    assert first.startswith(f"It did not pay: {speedup:.2f} x plain decoding, since a round brought 2.29 tokens and "
                            f"cost {passes:.1f} plain passes; with top_k ")
    assert paid(trace).speedup == pytest.approx(speedup) and first.endswith(" x.")
    assert lines_of("code")[0].startswith("It paid: ")
    assert "with 60 rows for the price of one it would be" in lines_of("lost")[0]


def vars_of(part):
    return part.model_dump().values()


def test_a_measured_curve_says_what_a_plain_pass_takes():
    trace = Trace.load(TRACES["storybook"])
    a_round = sum(sum(vars_of(r.seconds)) for r in trace.rounds) / len(trace.rounds)
    fast, slow = (a_cost(verify=curve((1, plain)), rest=curve((1, 0.0))) for plain in (a_round / 9, a_round))
    for cost, said in ((fast, "It did not pay: "), (slow, "It paid: ")):
        assert next(why_lines(trace, cost)).startswith(said) and paid(trace, cost).plain == cost.plain


@pytest.mark.parametrize("trace, said", [
    (make_trace(), "Whether it paid cannot be said: a round brought"),
    (make_trace(policy="plain"), "This is plain decoding: nothing was drafted"),
    (trace_with_first_token("end"), "There was nothing to pay for: the target's first token, 'end', ended the text"),
])
def test_where_there_is_little_to_say(trace, said):
    assert next(why_lines(trace)).startswith(said)


@pytest.mark.parametrize("name", TRACES)
def test_every_recorded_run_is_told_whole(name):
    trace, text = Trace.load(TRACES[name]), "\n".join(lines_of(name))
    for start in ("Clock: ", "Lost: ", "Confidence: ", "Static against dynamic: ", "Other settings: "):
        assert f"\n\n{start}" in text
    for reason, count in counts(losses(trace)).items():
        assert f"{count:5} ({count / len(trace.rounds):4.0%})  {WORDS[reason]}: round " in text
    assert set(WORDS) == set(REASONS) and "nan" not in text


def test_other_settings_are_what_if_says():
    what, lines = WhatIf(Trace.load(TRACES["sky"])), lines_of("sky")
    by_depth = next(line for line in lines if line.startswith("By depth: "))
    assert by_depth == "By depth: " + ", ".join(f"{d}: {what.at(depth=d).tau[0]:.2f}" for d in range(6))
    best = next(line for line in lines if line.startswith("Best by this run's clock alone"))
    cost, tried = cost_of(Trace.load(TRACES["sky"])), []
    for k, d, n in everything_below(what):
        tau = what.at(k, d, n).tau
        seconds = cost.head.at(1) * (d + 1) + cost.verify.at(n + 1) + cost.rest.at(n + 1)
        tried.append((tau[0] * cost.plain / seconds, -n, -k, -d))  # of equals the smallest
    speedup, n, k, d = max(tried)
    assert f"top_k {-k}, depth {-d}, total_tokens {-n}, tau " in best and f", {speedup:.2f} x plain decoding." in best


def test_a_grid_has_the_settings_that_have_candidates_enough():
    shapes = grid([4, 2, 2], range(3), (1, 9, 30))
    assert shapes == sorted(set(shapes)) and all(n <= candidate_count(k, d) for k, d, n in shapes)
    assert (2, 1, 1) in shapes and (2, 2, 9) in shapes and (2, 1, 9) not in shapes and (4, 2, 30) in shapes
    what = WhatIf(make_trace(rounds=9, top_k=4, depth=2, total_tokens=9))
    one, two = sums(what, [(4, 2, 9)]), a_cost()
    assert one == [(sum(what.at().low), sum(what.at().high))]
    tau = 1 + one[0][0] / 9
    seconds = two.a_round(4, 2, 9)
    assert cells([(4, 2, 9)], one, 9, two) == [Cell(4, 2, 9, tau, tau, seconds, tau * 2.25 / seconds)]
    assert what.total_tokens in {n for _, _, n in everything_below(what)}


def test_the_command(capsys):
    code, out, err = call(capsys, "why", TRACES["sky-small"])
    assert (code, err) == (0, "") and out.splitlines() == lines_of("sky-small")
    save_cost(a_cost(pair="smollm2-135m"))
    assert "Best by the measured cost curve: " in call(capsys, "why", TRACES["sky-small"])[1]
    code, out, err = call(capsys, "why", ROOT / "README.md")
    assert code == 2 and out == "" and err.startswith("error: This is not")


def test_a_run_is_explained_without_torch():
    code = (f"import sys\nfrom core.cli.main import main\nmain(['why', {str(TRACES['sky'])!r}])\n"
            "assert 'torch' not in sys.modules")
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.startswith("It ")
