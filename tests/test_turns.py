"""Tickets, the line for the model, and the pace of live runs."""

import pytest

from core.errors import UserError
from treeviz import turns as module
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


def test_runs_of_nobody_end_no_other():
    turns = Turns()
    first, second = turns.begin(None), turns.begin(None)
    assert not turns.stop_of(first).is_set() and not turns.stop_of(second).is_set()


def test_the_line_moves_up_and_lets_one_in_at_a_time():
    turns = Turns()
    tickets = [turns.begin(name) for name in "abcd"]
    places = [turns.wait(ticket) for ticket in tickets]
    assert list(places[0]) == [], "the first has nobody before it"
    assert [next(place) for place in places[1:]] == [1, 2, 3]
    turns.stop("b")  # whoever gives up makes room
    assert list(places[1]) == []
    turns.done(tickets[1])
    assert [next(place) for place in places[2:]] == [1, 2]
    turns.done(tickets[0])
    assert list(places[2]) == [] and next(places[3]) == 1
    turns.done(tickets[2])
    assert list(places[3]) == []


def test_a_full_line_is_a_sentence(monkeypatch):
    monkeypatch.setattr(module, "LINE", 2)
    turns = Turns()
    tickets = [turns.begin(None) for _ in range(4)]
    places = [turns.wait(ticket) for ticket in tickets]
    assert list(places[0]) == [] and next(places[1]) == 1 and next(places[2]) == 2
    with pytest.raises(UserError, match="2 runs are waiting already; try again"):
        next(places[3])
    turns.done(tickets[3])  # it never stood in the line
    turns.done(tickets[0])
    assert list(places[1]) == []


def test_pace_sends_the_first_and_then_a_few_a_second():
    pace = Pace()
    assert pace.due(100) and not pace.due(100)


def test_pace_tells_what_is_new_once():
    pace = Pace()
    assert pace.new("reading") and not pace.new("reading") and not pace.new("reading on"), "not twice within a second"
    assert pace.due(100), "the run itself has a pace of its own"
