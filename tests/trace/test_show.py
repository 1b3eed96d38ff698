"""A round in the terminal says what the trace says."""

import re

import pytest
from trace_maker import WORDS, make_trace

from core.errors import UserError
from core.trace.show import counted, round_lines, summary_lines, visible

GREEDY, SAMPLED = make_trace(), make_trace(temperature=1.0, rounds=20)
ROW = re.compile(r"^(.) {1,4}(\d+) +(\d+)  ([ .\d]{4})  ([ .\-\d]{6})  ( *)(\S.*?)  → (\S.*)$")


def rows(trace, index):
    """The tree's lines, taken apart: mark, row, candidate, p, score, indent, token, what the target says."""
    found = [ROW.match(line) for line in round_lines(trace, index)]
    return [m.groups() for m in found if m and m[3]]


@pytest.mark.parametrize("trace", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_every_row_of_the_tree_once_below_its_parent(trace):
    for index, r in enumerate(trace.rounds):
        lines = rows(trace, index)
        assert sorted(int(line[1]) for line in lines) == list(range(len(r.tree.candidate)))
        above = []  # the rows from the root down to the line before
        for mark, row, candidate, p, score, indent, token, says in lines:
            row = int(row)
            assert int(candidate) == r.tree.candidate[row] and len(indent) == 2 * r.tree.depth[row]
            above = [*above[: r.tree.depth[row]], row]
            assert r.tree.parent[row] == ([-1, *above])[-2]
            assert token == visible(trace, r.tokens[row]) and says == visible(trace, r.target.argmax[row])
            assert (mark == "✓") == (row in r.accept.path)
            if row:
                assert float(score) == pytest.approx(r.candidates.score[int(candidate) - 1], abs=0.006)
                assert 0 <= float(p) <= 1
            else:
                assert score.strip() == p.strip() == ""


def test_a_cross_marks_what_was_tried_and_not_taken():
    for trace in (GREEDY, SAMPLED):
        for index, r in enumerate(trace.rounds):
            crossed = {int(line[1]) for line in rows(trace, index) if line[0] == "✗"}
            if r.accept.draws:
                assert crossed == {draw.node for draw in r.accept.draws if not draw.accepted}
            else:
                assert crossed == {row for row, parent in enumerate(r.tree.parent)
                                   if parent in r.accept.path and row not in r.accept.path}


def test_the_heading_counts():
    r = GREEDY.rounds[2]
    heading = next(iter(round_lines(GREEDY, 2)))
    assert heading.startswith("Round 3 of 6: root ") and f"at position {r.prefix_length};" in heading
    assert f"{len(r.candidates.token)} candidates in 4 layers, 16 kept" in heading
    assert heading.endswith(f"cut-off {r.tree.cutoff:.3f}")


def test_the_verdict_says_what_was_accepted_and_why():
    kinds = set()
    for index, r in enumerate(GREEDY.rounds):
        verdict, cache = list(round_lines(GREEDY, index))[-2:]
        assert verdict.startswith(f"Accepted {r.accept.length}: ") and repr(visible(GREEDY, r.accept.bonus)) in verdict
        leaf = r.accept.bonus_from not in r.tree.parent
        assert ("is a leaf" in verdict) == leaf and ("the target wants" in verdict) == (not leaf)
        assert cache.startswith(f"Cache: {r.cache.length_before} rows") and f"= {r.cache.length_after};" in cache
        assert cache.endswith(f"{len(r.tokens) - len(r.cache.kept)} dropped.")
        kinds |= {leaf, "nothing" if not r.accept.length else "some"}
    assert {"some", False} <= kinds


def test_sampling_tells_every_draw():
    leaves = 0
    for index, r in enumerate(SAMPLED.rounds):
        lines = list(round_lines(SAMPLED, index))
        draws = [line for line in lines if line.startswith("row ") and ": r 0." in line]
        assert len(draws) == len(r.accept.draws)
        for line, draw in zip(draws, r.accept.draws):
            assert line.startswith(f"row {draw.node} ") and f"r {draw.r:.4f}" in line and f"p {draw.p:.4f}" in line
            assert ("< p" in line) == line.endswith("accepted") == draw.accepted
        leaf = r.accept.bonus_from not in r.tree.parent
        leaves += leaf
        assert ("goes on by itself" in lines[-2]) == leaf and ("drawn from what is left" in lines[-2]) == (not leaf)
    assert 0 < leaves < len(SAMPLED.rounds)


def test_a_round_that_is_not_there():
    for index in (-1, 6):
        with pytest.raises(UserError, match=f"no round {index + 1}; this run has rounds 1 to 6"):
            list(round_lines(GREEDY, index))


def test_white_space_is_visible_and_control_characters_are_harmless():
    words = list(WORDS)
    words[0:5] = [" \n\t", "\x1b[2J", "\u202e", "", "中😀é"]
    trace = make_trace(words=words)
    told = [visible(trace, i) for i in range(5) if str(i) in trace.vocabulary]
    assert told == ["·↵⇥", "␛[2J", "⟨U+202E⟩", "(empty)", "中😀é"][: len(told)] and len(told) >= 4
    for index in range(len(trace.rounds)):
        assert all(c.isprintable() for line in round_lines(trace, index) for c in line)


def test_the_summary_defines_its_numbers():
    what, numbers, check = summary_lines(GREEDY)
    assert what == ("invented, float32 on cpu; eagle2 (top_k 4, depth 3, total_tokens 16), temperature 0; ended by "
                    "length")
    s = GREEDY.summary
    assert numbers == (f"{s.new_tokens} new tokens in 6 rounds (one pass of the target each); "
                       f"tau {s.tau:.2f} = mean accepted drafted tokens + 1")
    assert check.startswith("lossless: not checked")
    document = GREEDY.to_dict()
    for lossless, first, said in ((True, None, "yes"), (False, 3, "NO")):
        document["check"] |= {"lossless": lossless, "first_difference": first, "note": "why"}
        assert list(summary_lines(type(GREEDY).from_dict(document)))[-1] == f"lossless: {said} (why)"


def test_a_chain_and_plain_decoding_in_a_terminal():
    chain, none = make_trace(policy="chain", length=3), make_trace(policy="plain", temperature=1.0)
    assert next(summary_lines(chain)) == "invented, float32 on cpu; chain (length 3), temperature 0; ended by length"
    assert next(summary_lines(none)) == "invented, float32 on cpu; plain, temperature 1; ended by length"
    assert "; 3 candidates in 3 layers, 3 kept, cut-off -" in next(round_lines(chain, 0))
    heading, _, row, verdict, cache = round_lines(none, 0)
    assert heading.endswith("; nothing drafted") and row.startswith("✓    0     0  ")
    assert "Accepted 0: nothing." in verdict and "goes on by itself" in verdict and "0 dropped" in cache
    document = none.to_dict()
    document["config"] |= {"policy": "a\n:b", "knob": "\x1b[2J" * 9}
    said = next(summary_lines(type(GREEDY).from_dict(document)))
    assert len(said) < 200 and said.isprintable() and "a↵:b" in said


def test_one_is_no_plural_and_zero_has_no_sign():
    assert [counted(n, "round") for n in (0, 1, 2)] == ["0 rounds", "1 round", "2 rounds"]
    document = make_trace(rounds=1).to_dict()
    document["output"]["token_ids"] = document["output"]["token_ids"][:1]
    document["summary"]["new_tokens"] = document["config"]["max_new_tokens"] = 1
    trace = type(GREEDY).from_dict(document)
    assert list(summary_lines(trace))[1].startswith("1 new token in 1 round (one pass")
    candidates = trace.rounds[0].candidates
    first = candidates.score[0]
    candidates.score[0] = -0.001
    lines = list(round_lines(trace, 0))
    candidates.score[0] = first
    assert any("   0.00  " in line for line in lines[2:]) and not any("-0.00" in line for line in lines)
