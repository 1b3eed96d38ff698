"""The command line, a parser for each command. Bad input is one sentence on stderr and exit code 2."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import warnings

from ..common.ink import LINES, say, sentence, visible
from ..common.memory import enough_memory, of_a_command
from ..errors import PairWarning, UserError
from ..trace.document import Trace, TraceError
from ..trace.show import counted, round_lines, summary_lines
from .flags import add_pair, add_settings, add_training, clear_line, config_of, pair_of, progress_line, tell_cost
from .measuring import add_measuring
from .run import run_command


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show a token's text still shows the rest
    try:
        with _notes(), enough_memory(of_a_command):
            try:
                return args.call(args)
            finally:
                clear_line()
    except UserError as error:
        print(f"error: {sentence(error)}", file=sys.stderr)
        return args.bad
    except ModuleNotFoundError as error:
        print(f"error: The Python package {error.name} is not installed; run pip install -r requirements.txt.", file=sys.stderr)
        return 2
    except BrokenPipeError:  # `... | head` closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        """One sentence, as for any other bad input; the flags are a page, and that is asked for."""
        self.exit(2, f"error: {visible(message, LINES)}; {self.prog} --help lists what there is.\n")


@contextlib.contextmanager
def _notes():
    """What should be known of a pair, as lines on stderr; other warnings as ever."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message, category, *where):
            if issubclass(category, PairWarning):
                say(f"note: {message}", file=sys.stderr)
            else:
                usual(message, category, *where)

        warnings.simplefilter("default", PairWarning)
        warnings.showwarning = show
        yield


def parser() -> argparse.ArgumentParser:
    top = _Parser(prog="python -m core", description="EAGLE-2 speculative decoding, told as a trace.")
    commands = top.add_subparsers(required=True, metavar="command")

    run = commands.add_parser("run", help="decode a prompt", description="Decode a prompt and tell what happened.")
    add_pair(run)
    prompt = run.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", help="the text to decode from")
    prompt.add_argument("--prompt-file", type=os.path.expanduser, help="a text file that holds it, or - for standard input")
    prompt.add_argument("--ids", help="token ids instead of text, like 5,17,3")
    run.add_argument("--chat", action="store_true", help="wrap the prompt in the model's chat template")
    add_settings(run)
    run.add_argument("--check", action="store_true", help="decode plainly too and compare token for token")
    run.add_argument("--trace", type=os.path.expanduser, help="write the trace here: .json, .json.gz or .jsonl (written round by round)")
    run.add_argument("--quiet", action="store_true", help="print the text only")
    run.set_defaults(call=run_command, bad=2)

    show = commands.add_parser("show", help="print a round of a trace", description="A round of a trace in the terminal.")
    show.add_argument("file", type=os.path.expanduser)
    show.add_argument("--round", type=int, help="which round, counted from 1, which it is unless told")
    show.set_defaults(call=show_command, bad=2)

    check = commands.add_parser("check-trace", help="validate a trace", description="Exit 0 if FILE is a sound trace.")
    check.add_argument("file", type=os.path.expanduser)
    check.set_defaults(call=check_trace_command, bad=1)

    bench = commands.add_parser("bench", help="measure against plain decoding",
                                description="tokens/s, tau and where the time goes, all in one run.")
    add_pair(bench)
    add_settings(bench)
    bench.add_argument("--prompts", type=os.path.expanduser, help="JSON lines or one array: the first of turns, prompt, instruction (with "
                                              "input), question, text is a user message")
    bench.add_argument("--limit", type=int, default=8, help="use the first N prompts (default 8)")
    bench.add_argument("--no-chat", action="store_true", help="do not wrap prompts in the chat template")
    bench.add_argument("--skip-generate", action="store_true", help="leave out transformers' generate")
    bench.set_defaults(call=bench_command, bad=2)

    add_measuring(commands)

    pairs = commands.add_parser("pairs", help="list the named pairs", description="Pairs that load by name, and where they are.")
    pairs.set_defaults(call=pairs_command, bad=2)

    train = commands.add_parser("train", help="train a head for a target",
                                description="Let the target write text, then train an EAGLE-2 head on it. Resumable.")
    train.set_defaults(call=train_command, bad=2)
    add_training(train)

    record = commands.add_parser("record", help="make the recorded runs again",
                                 description="Decode the recorded runs of the page again and write them to assets/traces.")
    record.add_argument("names", nargs="*", help="which ones (all of them)")
    record.set_defaults(call=record_command, bad=2)
    return top


def show_command(args: argparse.Namespace) -> int:
    trace = Trace.load(args.file)
    lines = [*summary_lines(trace)]
    if trace.rounds or args.round is not None:
        lines += ["", *round_lines(trace, (1 if args.round is None else args.round) - 1)]
    for line in lines:
        say(line)
    return 0


def check_trace_command(args: argparse.Namespace) -> int:
    try:
        trace = Trace.load(args.file)
    except TraceError as error:
        print(sentence(error))
        return 1
    say(f"{args.file} is a sound trace: {counted(trace.summary.rounds, 'round')}, "
        f"{counted(trace.summary.new_tokens, 'new token')}.")
    return 0


def bench_command(args: argparse.Namespace) -> int:
    config = config_of(args)
    if args.limit < 1:
        raise UserError(f"--limit is {args.limit}; give 1 or more.")
    from ..measure.bench import bench, read_prompts
    prompts = read_prompts(args.prompts)
    pair = pair_of(args)
    tell_cost(config)
    if len(prompts) > args.limit:
        print(f"The first {args.limit} of {len(prompts)} prompts are taken (--limit).", flush=True)
    for line in bench(pair, config, prompts[: args.limit], chat=not args.no_chat, generate_too=not args.skip_generate,
                      progress=progress_line):
        clear_line()
        say(line, flush=True)
    return 0


def pairs_command(args: argparse.Namespace) -> int:
    from ..pairs.named import pair_lines
    for line in pair_lines():
        say(line)
    return 0


def train_command(args: argparse.Namespace) -> int:
    from ..train.command import main as train
    return train(args)


def record_command(args: argparse.Namespace) -> int:
    from itertools import groupby

    from ..pairs import named as pairs
    from . import recordings
    chosen = sorted(recordings.choose(args.names), key=lambda recording: recording.pair)  # each pair is loaded once
    for name, group in groupby(chosen, key=lambda recording: recording.pair):
        for line in recordings.record(pairs.load_named(name, progress=progress_line), list(group)):
            say(line, flush=True)
    return 0
