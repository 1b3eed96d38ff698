"""The numbers of "Why it pays" as the browser reads them from recorded runs, against those of `core.measure`."""

import json
from pathlib import Path

import pytest
from test_modules import node

from core import Trace
from core.measure.calibration import calibration
from core.measure.cost import cost_of
from core.measure.lost import counts, losses
from core.measure.shapes import static
from core.measure.whatif import WhatIf
from core.measure.why import paid

HERE = Path(__file__).parent
TRACES = sorted((HERE.parents[1] / "assets/traces").glob("*.json.gz"))
SHAPES = {4: [(4, 4, 16), (4, 4, 5), (4, 4, 60), (4, 2, 16), (4, 0, 2),
              (3, 4, 16), (2, 4, 9), (2, 3, 60), (1, 4, 3), (1, 1, 2)],
          10: [(10, 5, 59), (10, 5, 8), (10, 5, 400), (10, 3, 59), (10, 0, 10),
               (8, 5, 59), (6, 5, 30), (4, 4, 16), (2, 5, 12), (1, 5, 6)]}  # by the recorded top_k


@pytest.fixture(scope="module")
def told():
    """{name: (the trace, what the modules say of it)}."""
    found = {}
    traces = {path: Trace.load(path) for path in TRACES}
    for top_k, shapes in SHAPES.items():
        paths = [path for path, trace in traces.items() if trace.config.get("top_k", 4) == top_k]
        run = node(HERE / "why_numbers.mjs", json.dumps(shapes), *paths)
        assert run.returncode == 0, run.stderr
        for path, said in zip(paths, json.loads(run.stdout), strict=True):
            found[path] = traces[path], said
    assert found.keys() == traces.keys()
    return list(found.values())


def test_what_if_is_what_core_says(told):
    ghosts = 0
    for trace, said in told:
        if trace.config["policy"] != "eagle2" or trace.config["temperature"]:
            assert said["whatIf"] is None
            continue
        what = WhatIf(trace)
        for shape, theirs in zip(SHAPES[trace.config["top_k"]], said["whatIf"], strict=True):
            ours, outlooks = what.at(*shape), what.outlooks(*shape[:2])
            assert (ours.low, ours.high) == (theirs["low"], theirs["high"])
            assert list(ours.tau) == pytest.approx(theirs["tau"])
            assert [list(map(list, outlook.kept(shape[2]))) for outlook in outlooks] == theirs["kept"]
            assert [sorted(outlook.ghosts) for outlook in outlooks] == [sorted(ids) for ids in theirs["ghosts"]]
            ghosts += sum(bool(outlook.ghosts) and bool(outlook.kept(shape[2])[1]) for outlook in outlooks)
    assert ghosts  # some of them are bounds


def test_rounds_are_lost_for_the_same_reasons(told):
    for trace, said in told:
        found = losses(trace)
        for ours, theirs in zip(found, said["losses"], strict=True):
            assert {name: getattr(ours, name) for name in theirs} == theirs
        assert dict(said["counts"]) == counts(found)


def test_calibration_is_what_core_says(told):
    for trace, said in told:
        for ours, theirs in zip(calibration([trace]), said["calibration"], strict=True):
            assert (ours.count, ours.said) == (theirs["count"], theirs["said"])
            assert theirs["promised"] == pytest.approx(ours.promised) and theirs["share"] == pytest.approx(ours.share)
            assert theirs["interval"] == (ours.interval and pytest.approx(list(ours.interval)))


def test_the_best_fixed_shape_is_what_core_says(told):
    for trace, said in told:
        ours, theirs = static(trace), said["shape"]
        assert [",".join(map(str, path)) for path in ours.shape] == theirs["shape"]
        for name in ("size", "accepted", "blind", "dynamic", "unknown"):
            assert getattr(ours, name) == theirs[name], name
        tau = {"accepted": ours.tau, "blind": ours.tau_blind, "dynamic": ours.tau_dynamic}
        assert theirs["tau"] == pytest.approx(tau)


def test_what_rounds_cost_is_what_core_says(told):
    checked = 0
    for trace, said in told:
        ours, cost = paid(trace), cost_of(trace)
        assert said["paid"] == [ours.plain and pytest.approx(ours.plain), ours.passes and pytest.approx(ours.passes)]
        rounds = cost and [cost.a_round(4, 3, total) for total in (1, 7, 16, 59)]
        assert said["rounds"] == (rounds and pytest.approx(rounds))
        checked += cost is not None
    assert checked > 5
