"""A round in a terminal: the tree with its scores, who was kept, what was accepted and why.

Reads traces only; knows nothing of torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ..common import ink
from ..config import DecodeConfig
from ..errors import UserError
from .document import Round, Trace


def visible(trace: Trace, token_id: int) -> str:
    """A token's text with its white space visible and its control characters harmless in a terminal."""
    return ink.visible(trace.token(token_id).text) or "(empty)"


def counted(number: int, what: str) -> str:
    """1 round, 2 rounds."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def _fixed(number: float, places: int) -> str:
    """With so many decimals, and no minus before a zero."""
    return f"{round(number, places) + 0.0:.{places}f}"


def undrafted(trace: Trace) -> str:
    """Why a run has no rounds."""
    ids = trace.output.token_ids
    return (f"the target's first token, {visible(trace, ids[0])!r}, ended the text and nothing was drafted" if ids else
            "it was stopped before its first round and nothing was drafted")


def round_lines(trace: Trace, index: int) -> Iterator[str]:
    """The lines that tell round `index`, counted from 0. Raises UserError where there is no such round."""
    if not 0 <= index < len(trace.rounds):
        raise UserError(f"There is no round {index + 1}; this run has rounds 1 to {len(trace.rounds)}."
                        if trace.rounds else f"This run has no rounds: {undrafted(trace)}.")
    r = trace.rounds[index]
    drafted = (f"{counted(len(r.candidates.token), 'candidate')} in {counted(len(r.layers), 'layer')}, "
               f"{len(r.tree.candidate) - 1} kept" if r.candidates.token else "nothing drafted")
    yield (f"Round {index + 1} of {len(trace.rounds)}: root {visible(trace, r.root)!r} at position {r.prefix_length}; "
           + drafted + (f", cut-off {_fixed(r.tree.cutoff, 3)}" if r.tree.cutoff is not None else ""))
    yield "   row  cand     p  score  target says"
    yield from _tree_lines(trace, r)
    yield from _verdict(trace, r)


def _tree_lines(trace: Trace, r: Round) -> Iterator[str]:
    tokens, accepted = r.tokens, set(r.accept.path)
    tried = {draw.node for draw in r.accept.draws}
    children: dict[int, list[int]] = {}
    for row, parent in enumerate(r.tree.parent):
        children.setdefault(parent, []).append(row)
    stack = [(0, "")]
    while stack:
        row, indent = stack.pop()
        candidate = r.tree.candidate[row]
        p, score = "    ", "      "
        if candidate:
            p = f"{math.exp(r.candidates.log_prob[candidate - 1]):.2f}"
            score = _fixed(r.candidates.score[candidate - 1], 2).rjust(6)
        mark = "✓" if row in accepted else "✗" if row in tried or (
            r.accept.rule == "greedy" and r.tree.parent[row] in accepted) else " "
        says = visible(trace, r.target.argmax[row])
        yield f"{mark} {row:4d} {candidate:5d}  {p}  {score}  {indent}{visible(trace, tokens[row])}  → {says}"
        for child in reversed(children.get(row, [])):
            stack.append((child, indent + "  "))


def _verdict(trace: Trace, r: Round) -> Iterator[str]:
    tokens = r.tokens
    path = " ".join(repr(visible(trace, tokens[row])) for row in r.accept.path[1:]) or "nothing"
    for draw in r.accept.draws:
        sign, word = ("<", "accepted") if draw.accepted else (">=", "rejected, its mass removed")
        yield f"row {draw.node} {visible(trace, tokens[draw.node])!r}: r {draw.r:.4f} {sign} p {draw.p:.4f}, {word}"
    last, bonus = visible(trace, tokens[r.accept.bonus_from]), visible(trace, r.accept.bonus)
    offered = [visible(trace, tokens[row]) for row, parent in enumerate(r.tree.parent) if parent == r.accept.bonus_from]
    if not offered:
        why = f"{last!r} is a leaf; the target goes on by itself"
    elif r.accept.draws:
        why = f"drawn from what is left after {last!r}"
    else:
        why = f"after {last!r} the target wants {bonus!r}; the tree offers {', '.join(map(repr, offered[:5]))}"
        why += " and more" if len(offered) > 5 else ""
    yield f"Accepted {r.accept.length}: {path}. Bonus {bonus!r}: {why}."
    yield (f"Cache: {counted(r.cache.length_before, 'row')} + rows {r.cache.kept} of the tree = "
           f"{r.cache.length_after}; {len(tokens) - len(r.cache.kept)} dropped.")


def summary_lines(trace: Trace) -> Iterator[str]:
    """What the run was and what it added up to, numbers defined."""
    c, s = DecodeConfig.from_dict(trace.config), trace.summary
    yield (f"{trace.pair.name}, {trace.pair.dtype} on {trace.pair.device}; {ink.visible(c.told(), ' ')}, temperature "
           f"{c.temperature:g}; ended by {trace.output.finish_reason}")
    yield (f"{counted(s.new_tokens, 'new token')} in {counted(s.rounds, 'round')} (one pass of the target each); "
           f"tau {s.tau:.2f} = mean accepted drafted tokens + 1") if trace.rounds else (
               f"{counted(s.new_tokens, 'new token')} in no round: {undrafted(trace)}, so there is no tau")
    yield f"lossless: {'not checked' if trace.check.lossless is None else 'yes' if trace.check.lossless else 'NO'}" \
          f" ({trace.check.note})"
