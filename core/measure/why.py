"""Why a run paid, or did not, in words: clock, lost rounds, the head's confidence, one fixed shape, other settings.

Reads a trace and, where one was measured, a cost curve. No torch; knows nothing of who asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import UserError
from ..trace.document import Trace
from ..trace.show import counted, undrafted
from ..trace.summary import PARTS
from . import lost
from .calibration import calibration
from .cost import Cost, cost_of, plain_pass, worth_sentence
from .grid import Cell, cells, everything_below, sums
from .shapes import static
from .whatif import WhatIf

WORDS = {
    lost.ENDED: "the run ended",
    lost.UNDRAFTED: "nothing was drafted",
    lost.CUT: "scored, but cut by the re-rank",
    lost.UNREAD: "kept, but the target's numbers there were not finite",
    lost.UNSCORED: "never scored: not among the children of a node that was fed",
    lost.DEPTH: "the depth ended",
    lost.UNEXPANDED: "its parent was not fed",
}


@dataclass(frozen=True, slots=True)
class Paid:
    """Seconds of a token of plain decoding (None where nobody knows) and of a round on average; tokens per round."""

    plain: float | None
    a_round: float
    tau: float

    @property
    def passes(self) -> float | None:
        """What a round costs in plain passes."""
        return self.a_round / self.plain if self.plain else None

    @property
    def speedup(self) -> float | None:
        """How many times as fast as plain decoding, the prompt left out."""
        return self.tau / self.passes if self.plain else None


def paid(trace: Trace, cost: Cost | None = None) -> Paid:
    """By the run's own check, else by a cost curve of its pair."""
    spent = sum(trace.summary.seconds[part] for part in PARTS) / len(trace.rounds)
    return Paid(plain_pass(trace) or (cost and cost.plain), spent, trace.summary.tau)


def why_lines(trace: Trace, cost: Cost | None = None) -> Iterator[str]:
    """`cost`: a curve that was measured for the run's pair. Without one the run's own clock has to do."""
    if not trace.rounds:
        yield f"There was nothing to pay for: {undrafted(trace)}."
        return
    if not any(r.candidates.token for r in trace.rounds):
        yield "This is plain decoding: nothing was drafted, so there was nothing to pay for."
        return
    what = _what_if(trace)
    curve = cost or cost_of(trace)
    best = _best(what, curve) if what and curve else None
    yield _verdict(trace, paid(trace, cost), best)
    for section in (_clock(trace, paid(trace, cost), curve), _lost(trace), _confidence(trace), _shapes(trace),
                    _others(what, curve, best, measured=cost is not None)):
        lines = [*section]
        if lines:
            yield ""
            yield from lines


def _what_if(trace: Trace) -> WhatIf | None:
    try:
        return WhatIf(trace)
    except UserError:  # another policy, or sampled
        return None


def _best(what: WhatIf, cost: Cost) -> Cell:
    shapes = everything_below(what)
    found = cells(shapes, sums(what, shapes), len(what.at().low), cost)
    return max(found, key=lambda cell: (cell.speedup, -cell.total_tokens))


def _verdict(trace: Trace, p: Paid, best: Cell | None) -> str:
    if p.speedup is None:
        passes = trace.summary.head_forwards / len(trace.rounds)
        return (f"Whether it paid cannot be said: a round brought {p.tau:.2f} tokens for one pass of the target and "
                f"{passes:g} of the head, but nobody knows what a plain pass takes; run it with --check, or "
                "python -m core cost.")
    said = "It paid" if p.speedup >= 1 else "It did not pay"
    line = (f"{said}: {p.speedup:.2f} x plain decoding, since a round brought {p.tau:.2f} tokens and cost "
            f"{p.passes:.1f} plain passes")
    if best and best.speedup > max(p.speedup, 1) * 1.02:
        return f"{line}; with {best.told()} it would be about {best.speedup:.2f} x."
    if p.speedup >= 1:
        return f"{line}; no smaller tree would have paid more." if best else line + "."
    none = f"; no smaller tree would pay here ({best.told()}: {best.speedup:.2f} x)" if best else ""
    return f"{line}{none}; a head would have to bring more than {p.passes:.1f}{_if_rows_were_free(trace, p)}."


def _if_rows_were_free(trace: Trace, p: Paid) -> str:
    """What a device would change on which the target's pass over a tree costs what it costs over one row."""
    rows = max(len(r.tree.candidate) for r in trace.rounds)
    seconds = p.a_round - trace.summary.seconds["verify"] / len(trace.rounds) + p.plain
    return f", and with {rows} rows for the price of one it would be {p.tau * p.plain / seconds:.2f} x"


def _clock(trace: Trace, p: Paid, curve: Cost | None) -> Iterator[str]:
    n = len(trace.rounds)
    parts = ", ".join(f"{part} {1e3 * trace.summary.seconds[part] / n:.1f}" for part in PARTS)
    yield f"Clock: a round takes {1e3 * p.a_round:.1f} ms: {parts}."
    if p.plain:
        yield (f"A plain pass takes {1e3 * p.plain:.1f} ms, so a round costs {p.passes:.1f} of them and replaces "
               f"{p.tau:.2f}.")
    if curve:
        yield worth_sentence(curve, max(len(r.tree.candidate) for r in trace.rounds))


def _lost(trace: Trace) -> Iterator[str]:
    found = lost.losses(trace)
    yield f"Lost: why {counted(len(found), 'round')} ended where they did; the token that the target wanted next was"
    for reason, count in lost.counts(found).items():
        those = [loss for loss in found if loss.reason == reason]
        rounds = ", ".join(str(loss.round + 1) for loss in those[:12]) + (", ..." if len(those) > 12 else "")
        yield f"{count:5} ({count / len(found):4.0%})  {WORDS[reason]}: round {rounds}"
        if reason == lost.CUT:
            near = min(those, key=lambda loss: loss.rank)
            yield (f"{'':14}the nearest in round {near.round + 1}: rank {near.rank}, score {near.score:.2f}, the cut "
                   f"at {near.cutoff:.2f}")


def _confidence(trace: Trace) -> Iterator[str]:
    yield "Confidence: path probability by the head, candidates, how many of them the target said (95 %)"
    for b in calibration([trace]):
        if b.count:
            low, high = b.interval
            yield f"  {b.low:.1f} to {b.high:.1f} {b.count:7} {b.said:5}  {b.share:4.0%}  ({low:.0%} to {high:.0%})"


def _shapes(trace: Trace) -> Iterator[str]:
    s = static(trace)
    yield (f"Static against dynamic: the trees of this run, {counted(s.size, 'node')} each, brought "
           f"{s.tau_dynamic:.2f} tokens a round. The best fixed shape of that size, chosen in hindsight, would have "
           f"brought {s.tau:.2f}; "
           f"chosen without the round that it is judged by, {s.tau_blind:.2f}.")
    if s.unknown:
        yield f"In {counted(s.unknown, 'round')} a fixed shape may have gone further than was recorded."


def _others(what: WhatIf | None, curve: Cost | None, best: Cell | None, measured: bool) -> Iterator[str]:
    if what is None:
        yield "Other settings: only greedy runs of eagle2 can be asked."
        return
    totals = sorted({n for n in (1, 2, 4, 8, 16, 32) if n < what.total_tokens} | {what.total_tokens})
    yield "Other settings: tau over the same starts of rounds, an estimate for a run. By total_tokens: " + ", ".join(
        f"{n}: {_range(*what.at(total_tokens=n).tau)}" for n in totals)
    yield "By depth: " + ", ".join(f"{d}: {_range(*what.at(depth=d).tau)}" for d in range(what.depth + 1))
    yield "By top_k: " + ", ".join(f"{k}: {_range(*what.at(top_k=k).tau)}" for k in range(1, what.top_k + 1))
    if best:
        by = "the measured cost curve" if measured else "this run's clock alone (python -m core cost measures more)"
        yield (f"Best by {by}: {best.told()}, tau {_range(best.tau_low, best.tau_high)}, {best.speedup:.2f} x plain "
               "decoding.")


def _range(low: float, high: float) -> str:
    return f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"
