"""Tickets and pace of live runs."""

from treeviz.turns import Pace, Turns


def test_stop_finds_a_run_before_and_after_it_began():
    turns = Turns()
    waiting, other = turns.begin("ann"), turns.begin("bob")
    turns.stop("ann")
    assert turns.stop_of(waiting).is_set() and not turns.stop_of(other).is_set()
    turns.done(waiting)
    turns.stop("ann")  # nothing left to stop
    turns.stop("nobody")


def test_a_new_run_ends_the_one_before():
    turns = Turns()
    first = turns.begin("ann")
    second = turns.begin("ann")
    assert first != second and turns.stop_of(first).is_set() and not turns.stop_of(second).is_set()
    turns.leave("ann")
    assert turns.stop_of(second).is_set()


def test_pace_sends_the_first_and_then_a_few_a_second():
    pace = Pace()
    assert pace.due(100) and not pace.due(100)
