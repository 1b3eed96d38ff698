"""The commands that say what decoding costs and what it bought: cost, why, sweep."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ..common.ink import say
from ..errors import UserError
from ..trace.document import Trace
from .flags import add_pair, clear_line, id_list, own_path, pair_of, progress_line

GRID = {"top_k": "1,2,3,4,6,8,10", "depth": "0,1,2,3,4,5", "total_tokens": "1,2,3,4,5,6,8,10,12,16,20,24,32,40,48,59"}
TIMING = 10  # seconds for a cost curve, where none was measured before


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

    sweep = commands.add_parser("sweep", help="which settings suit a pair here",
                                description="A grid of settings on your prompts, most of it estimated from one run of "
                                            "each; the best few are really run, in turns with plain decoding.")
    add_pair(sweep)
    sweep.add_argument("--prompts", type=os.path.expanduser, help="as bench takes them (a few of our own)")
    sweep.add_argument("--limit", type=int, default=8, help="use the first N prompts (8)")
    sweep.add_argument("--no-chat", action="store_true", help="do not wrap prompts in the chat template")
    for name, values in GRID.items():
        sweep.add_argument("--" + name.replace("_", "-"), default=values, metavar="N,N,...", help=f"({values})")
    sweep.add_argument("--max-new-tokens", type=int, default=64, help="of each run (64)")
    sweep.add_argument("--draft-vocab", type=int, default=0, help="draft among the N most frequent tokens (0: all)")
    sweep.add_argument("--best", type=int, default=3, help="how many settings are really run (3)")
    sweep.add_argument("--turns", type=int, default=3, help="how often, each prompt (3)")
    sweep.add_argument("--out", type=own_path, default=Path("sweep.json"), help="what is known, as JSON (sweep.json)")
    sweep.add_argument("--resume", action="store_true", help="go on with what --out holds")
    sweep.set_defaults(call=sweep_command, bad=2)


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


def sweep_command(args: argparse.Namespace) -> int:
    from ..measure.grid import grid
    for name, least in (("limit", 1), ("max_new_tokens", 8), ("best", 1), ("turns", 1)):
        if getattr(args, name) < least:
            raise UserError(f"--{name.replace('_', '-')} is {getattr(args, name)}; give {least} or more.")
    wanted = {name: id_list(getattr(args, name), f"--{name.replace('_', '-')}") for name in GRID}
    for name, values in wanted.items():
        if not values or min(values) < (name != "depth"):
            raise UserError(f"--{name.replace('_', '-')} is {getattr(args, name)!r}; give whole numbers of "
                            f"{int(name != 'depth')} or more, like {GRID[name]}.")
    if args.out.exists() and not args.resume:
        raise UserError(f"{args.out} is there already; give --resume to go on with it, or another --out.")
    from ..measure.bench import read_prompts
    from ..measure.sweep import begin, go_on
    from ..measure.swept import Sweep, sweep_lines
    prompts = read_prompts(args.prompts)[: args.limit]
    before = Sweep.load(args.out) if args.resume else None
    pair = pair_of(args)
    ids = _encoded(pair, prompts, chat=not args.no_chat)
    cost = before.cost if before else _cost(pair, args.draft_vocab)
    sweep = begin(pair, ids, grid(**wanted), cost, args.max_new_tokens)
    sweep = _resumed(before, sweep, pair, args) if before else sweep
    kept = -1
    try:
        for step in go_on(pair, sweep, args.best, args.turns):
            progress_line(f"{step.share:4.0%}  {step.told()}", step.share * 0.999)
            if kept != (kept := len(sweep.recorded) + len(sweep.ran)):
                sweep.save(args.out)
    finally:  # what is known is told, also after Ctrl-C
        clear_line()
        sweep.save(args.out)
        for line in sweep_lines(sweep, colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR")):
            say(line)
        say(f"Kept in {args.out}")
    return 0


def _encoded(pair, prompts: list[str], chat: bool) -> list[list[int]]:
    from ..pairs.chat import encode
    chat = chat and bool(getattr(pair.tokenizer, "chat_template", None))
    return [encode(pair, text, chat) for text in prompts]


def _cost(pair, draft_vocab: int):
    """The curve that was measured, or a new one."""
    from ..measure.cost import load_cost, save_cost
    from ..measure.timing import timed
    from ..model.threads import threads_for
    about, cost = pair.describe(), None
    known = load_cost(pair.name, device=about["device"], dtype=about["dtype"], draft_vocab=draft_vocab,
                      threads=threads_for(pair.target.model))
    if known:
        return known
    for share, so_far in timed(pair, TIMING, draft_vocab=draft_vocab):
        progress_line(f"Timing passes of {pair.name}: {share:.0%}", share * 0.999)
        cost = so_far
    save_cost(cost)
    return cost


def _resumed(before, wanted, pair, args):
    """The sweep that was begun. Raises UserError where another one is asked for."""
    for name in ("prompts", "shapes", "max_new_tokens"):
        if getattr(before, name) != getattr(wanted, name):
            raise UserError(f"{args.out} is a sweep with other {name.replace('_', ' ')}; give the flags it was begun "
                            "with, or another --out.")
    if (before.cost.pair, before.cost.draft_vocab) != (pair.name, args.draft_vocab):
        raise UserError(f"{args.out} is a sweep of {before.cost.pair}, draft vocabulary {before.cost.draft_vocab}; "
                        "give the flags it was begun with, or another --out.")
    return before
