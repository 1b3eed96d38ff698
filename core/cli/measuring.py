"""The commands that say what decoding costs and what it bought: cost, why."""

from __future__ import annotations

import argparse
import os

from ..common.ink import say
from ..errors import UserError
from ..trace.document import Trace
from .flags import add_pair, clear_line, id_list, pair_of, progress_line


def add_measuring(commands) -> None:
    """The commands' parsers."""
    cost = commands.add_parser("cost", help="what a pass costs by its rows",
                               description="Time passes of target and head by their rows, and keep the curve.")
    add_pair(cost)
    cost.add_argument("--seconds", type=float, default=20, help="how long to measure (20)")
    cost.add_argument("--cache-length", type=int, default=128, metavar="N",
                      help="committed tokens before the rows (128)")
    cost.add_argument("--rows", default="1,2,4,8,16,32,60,128", help="of the target's passes (1,2,4,8,16,32,60,128)")
    cost.add_argument("--draft-vocab", type=int, default=0, help="draft among the N most frequent tokens only (0: all)")
    cost.set_defaults(call=cost_command, bad=2)

    why = commands.add_parser("why", help="why a run paid, or not", description="Whether a run was faster than plain "
                              "decoding and by how much, where its rounds were lost, and what would have to change.")
    why.add_argument("file", type=os.path.expanduser, help="a trace")
    why.set_defaults(call=why_command, bad=2)


def cost_command(args: argparse.Namespace) -> int:
    rows = tuple(id_list(args.rows, "--rows"))
    if not rows or min(rows) < 1:
        raise UserError(f"--rows is {args.rows!r}; give whole numbers of 1 or more with commas between, like 1,8,60.")
    if not 0 < args.seconds <= 3600:
        raise UserError(f"--seconds is {args.seconds:g}; give a number above 0, up to 3600.")
    pair = pair_of(args)
    from ..measure.cost import cost_lines, save_cost
    from ..measure.timing import timed
    cost = None
    for share, known in timed(pair, args.seconds, args.cache_length, rows, args.draft_vocab):
        progress_line(f"Timing passes of {pair.name}: {share:.0%}", share * 0.999)
        cost = known
    clear_line()
    path = save_cost(cost)
    for line in cost_lines(cost):
        say(line)
    say(f"Kept in {path}")
    return 0


def why_command(args: argparse.Namespace) -> int:
    trace = Trace.load(args.file)
    from ..measure.cost import load_cost
    from ..measure.why import why_lines
    cost = load_cost(trace.pair.name, device=trace.pair.device, dtype=trace.pair.dtype,
                     draft_vocab=trace.config["draft_vocab"])
    for line in why_lines(trace, cost):
        say(line)
    return 0
