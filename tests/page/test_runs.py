"""A visitor's runs: the line for the model, who listens, and what is kept of what was decoded."""

import pytest

from core.errors import UserError
from treeviz.page import runs as module
from treeviz.page.runs import Pace, Run, Runs


def start(runs, run):
    """Takes the run's turn, which must have come."""
    assert list(runs.wait(run)) == []


def test_stop_finds_a_run_before_and_after_it_began():
    runs = Runs()
    ann, bob = runs.begin("ann", "1"), runs.begin("bob", "2")
    start(runs, ann)
    runs.stop("bob")
    assert bob.over() and not ann.over()
    runs.stop("ann")
    assert ann.over()
    runs.finish(ann)
    runs.stop("ann")  # nothing left to stop
    runs.stop("nobody")


def test_a_new_run_ends_the_one_before():
    runs = Runs()
    first = runs.begin("ann", "1")
    start(runs, first)
    second = runs.begin("ann", "1")
    third = runs.begin("ann", "1")
    assert [run.replaced for run in (first, second, third)] == [True, True, False]
    assert [run.over() for run in (first, second, third)] == [True, True, False]
    assert next(runs.wait(third)) == (0, 2), "the one it ends is not before it, but still has the model"
    runs.finish(first)
    start(runs, third)


def test_a_client_that_must_not_end_its_own_run_is_refused():
    runs = Runs()
    start(runs, runs.begin("ann", "1", anew=False))
    with pytest.raises(UserError, match="A run of yours is going on already"):
        runs.begin("ann", "1", anew=False)


def test_the_line_moves_up_and_lets_one_in_at_a_time():
    runs = Runs()
    a, b, c, d = (runs.begin(name, name) for name in "abcd")
    start(runs, a)
    assert [next(runs.wait(run)) for run in (b, c, d)] == [(1, 4), (2, 4), (3, 4)]
    b.stop()  # whoever gives up makes room
    assert list(runs.wait(b)) == []
    runs.finish(b)
    assert [next(runs.wait(run)) for run in (c, d)] == [(1, 3), (2, 3)]
    runs.finish(a)
    assert next(runs.wait(d)) == (1, 2), "it is not the other's turn, whoever asks first"
    start(runs, c)
    assert next(runs.wait(d)) == (1, 2)
    runs.finish(c)
    start(runs, d)


def test_a_run_has_one_turn():
    runs = Runs()
    run = runs.begin("ann", "1")
    start(runs, run)
    start(runs, run)  # asking again gives nothing and takes nothing
    runs.finish(run)
    other = runs.begin("bob", "2")
    start(runs, run)
    assert runs._running is None
    start(runs, other)


def test_of_the_addresses_that_wait_the_one_served_longest_ago_is_next():
    runs = Runs()
    greedy = [runs.begin(f"g{i}", "greedy") for i in range(4)]
    start(runs, greedy[0])
    honest = [runs.begin("ann", "ann"), runs.begin("bob", "bob")]
    assert [next(runs.wait(run))[0] for run in (*greedy[1:], *honest)] == [3, 4, 5, 1, 2]
    served = []
    last = greedy[0]
    while runs._waiting:
        runs.finish(last)
        last = next(run for run in (*greedy[1:], *honest) if run in runs._waiting and list_is_empty(runs, run))
        served.append(last)
    assert served == [*honest, *greedy[1:]]


def list_is_empty(runs, run):
    """Has its turn come?"""
    return next(runs.wait(run), None) is None


def test_a_full_line_and_a_full_address_are_sentences(monkeypatch):
    monkeypatch.setattr(module, "LINE", 3)
    monkeypatch.setattr(module, "PER_ADDRESS", 2)
    runs = Runs()
    start(runs, runs.begin("a", "1"))
    places = [runs.begin("b", "1"), runs.begin("c", "1")]
    with pytest.raises(UserError, match="2 runs from your network are waiting already; try again"):
        runs.begin("d", "1")
    runs.begin("d", "2")
    with pytest.raises(UserError, match="3 runs are waiting already; try again"):
        runs.begin("e", "3")
    again = runs.begin("b", "1")  # in its own place
    assert places[0].replaced and not again.over()
    places[1].stop()
    runs.begin("e", "3")


def test_a_run_whose_listener_is_gone_is_over(monkeypatch):
    silence = {"ann": 0.0}
    runs = Runs(lambda session: silence[session])
    run = runs.begin("ann", "1")
    assert not run.over()
    run.born -= 60
    silence["ann"] = module.GONE / 2
    assert not run.over()
    silence["ann"] = module.GONE * 1.1
    assert run.over()
    silence["ann"] = 0.0
    assert run.over(), "it does not come to life again"


def test_a_run_that_nobody_comes_to_hear_is_over(monkeypatch):
    runs = Runs(lambda session: None)
    run = runs.begin("ann", "1")
    assert not run.over(), "its listener may be on the way"
    run.silence = lambda session: 30
    assert not run.over(), "who left was listening to another run"
    run.born -= module.COMING
    assert run.over() and list(runs.wait(run)) == []
    runs.finish(run)
    assert runs.found(run.name) is None, "it has nothing to keep"


def test_lines_come_back_as_they_were_and_from_anywhere():
    run = Run("ann", "1")
    told = ['{"a": "\u2028 \x85 \\r"}\n', '{"b": "\U0001f333"}\n', "{}\n"]
    run.add("")
    run.add(told[0] + told[1])
    run.add(told[2])
    assert run.count == 3 and list(run.lines()) == told and list(run.lines(2)) == told[2:] and list(run.lines(9)) == []


def bring(runs, lines, address="1"):
    with runs.brought(address) as run:
        run.add(lines)
    return run


def test_what_somebody_brings_is_there_while_it_comes_and_gone_if_it_breaks_off():
    runs = Runs()
    with runs.brought("1") as run:
        assert runs.found(run.name) is run and run.whole and not run.done
    assert run.done
    with pytest.raises(ZeroDivisionError), runs.brought("1") as broken:
        broken.add("{}\n")
        1 / 0  # noqa: B018
    assert runs.found(broken.name) is None and broken.done


def test_the_last_runs_are_kept_and_the_oldest_go(monkeypatch):
    runs = Runs()
    first = bring(runs, "x" * 1000 + "\n")
    monkeypatch.setattr(module, "KEPT", 3 * first.size)
    others = [bring(runs, letter * 1000 + "\n") for letter in "yz"]
    assert all(runs.found(run.name) is run for run in (first, *others))
    last = bring(runs, "w" * 1000 + "\n")
    assert runs.found(first.name) is None and all(runs.found(run.name) is run for run in (*others, last))
    monkeypatch.setattr(module, "KEPT", 1)
    large = bring(runs, "v" * 1000 + "\n")
    assert runs.found(large.name) is large and runs.found(last.name) is None, "the newest one is always there"
    large.born -= module.KEPT_SECONDS
    bring(runs, "u\n")
    assert runs.found(large.name) is None
    assert runs.found("") is None and runs.found("live") is None


def test_nobody_drives_out_what_others_keep(monkeypatch):
    for name, most in (("KEPT_RUNS", 5), ("KEPT", 1000)):  # many small runs, then few large ones
        runs, text = Runs(), "\n".join(map(str, range(10 if name == "KEPT_RUNS" else 40))) + "\n"
        honest = [bring(runs, "{}\n", address) for address in ("ann", "bob")]
        monkeypatch.setattr(module, name, most)
        flood = [bring(runs, text, "flood") for _ in range(9)]
        assert all(runs.found(run.name) for run in honest), name
        assert runs.found(flood[-1].name) and not runs.found(flood[0].name)
        monkeypatch.undo()


def test_a_decoding_run_is_found_by_its_name():
    runs = Runs()
    run = runs.begin("ann", "1")
    assert runs.found(run.name) is run
    start(runs, run)
    assert runs.found(run.name) is run and len(run.name) > 20
    run.add("{}\n")
    runs.finish(run)
    assert runs.found(run.name) is run and run.done


def test_pace_tells_what_is_new_once():
    pace = Pace()
    assert pace.new("reading") and not pace.new("reading") and not pace.new("reading on"), "not twice within a second"
