"""The command line: run, show, check-trace, bench. Bad input is one sentence on stderr and exit code 2."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from pathlib import Path

from .config import DecodeConfig
from .errors import UserError
from .show import round_lines, summary_lines
from .trace import Trace, TraceError

DRAFTED, BONUS, RESET = "\x1b[32m", "\x1b[33;1m", "\x1b[0m"


def main(argv: list[str] | None = None) -> int:
    args = parser().parse_args(argv)
    try:
        return args.call(args)
    except UserError as error:
        message = " ".join(str(error).split())
        print(f"error: {message}", file=sys.stderr)
        return args.bad
    except BrokenPipeError:  # `... | head` closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m core", description="EAGLE-2 speculative decoding, told as a trace.")
    commands = top.add_subparsers(required=True, metavar="command")

    run = commands.add_parser("run", help="decode a prompt", description="Decode a prompt and tell what happened.")
    _add_pair(run)
    prompt = run.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", help="the text to decode from")
    prompt.add_argument("--prompt-file", help="a UTF-8 file that holds it")
    prompt.add_argument("--ids", help="token ids instead of text, like 5,17,3")
    run.add_argument("--chat", action="store_true", help="wrap the prompt in the model's chat template")
    _add_settings(run)
    run.add_argument("--check", action="store_true", help="decode plainly too and compare token for token")
    run.add_argument("--trace", help="write the trace here: .json, .json.gz or .jsonl (written round by round)")
    run.add_argument("--quiet", action="store_true", help="print the text only")
    run.set_defaults(call=run_command, bad=2)

    show = commands.add_parser("show", help="print a round of a trace", description="A round of a trace in the terminal.")
    show.add_argument("file")
    show.add_argument("--round", type=int, default=0, help="which round, counted from 0")
    show.set_defaults(call=show_command, bad=2)

    check = commands.add_parser("check-trace", help="validate a trace", description="Exit 0 if FILE is a sound trace.")
    check.add_argument("file")
    check.set_defaults(call=check_trace_command, bad=1)

    bench = commands.add_parser("bench", help="measure against plain decoding",
                                description="tokens/s, tau and where the time goes, all in one run.")
    _add_pair(bench)
    _add_settings(bench)
    bench.add_argument("--prompts", help="a JSONL file; turns[0] (or prompt) of each line is a user message")
    bench.add_argument("--limit", type=int, default=8, help="use the first N prompts (default 8)")
    bench.add_argument("--no-chat", action="store_true", help="do not wrap prompts in the chat template")
    bench.add_argument("--skip-generate", action="store_true", help="leave out transformers' generate")
    bench.set_defaults(call=bench_command, bad=2)
    return top


def _add_pair(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("pair")
    group.add_argument("--pair", help="a named pair, like smollm2-135m (the default without --target)")
    group.add_argument("--target", help="directory or hub id of a Llama")
    group.add_argument("--draft", help="directory or hub id of its EAGLE-1/2 head")
    group.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:N")
    group.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16")
    group.add_argument("--device-map", choices=["auto"], help="spread a large target over GPUs (accelerate)")


def _add_settings(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("settings")
    group.add_argument("--top-k", type=int, default=10, help="children per node and nodes expanded per layer (10)")
    group.add_argument("--depth", type=int, default=5, help="beam passes after the first: depth + 1 layers (5)")
    group.add_argument("--total-tokens", type=int, help="drafted nodes kept, root not counted (59, or all there are)")
    group.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (0)")
    group.add_argument("--top-p", type=float, default=1.0, help="nucleus of the target's distribution (1)")
    group.add_argument("--sample-top-k", type=int, default=0, help="keep the target's k likeliest tokens (0: all)")
    group.add_argument("--seed", type=int, default=0)
    group.add_argument("--max-new-tokens", type=int, default=128)
    group.add_argument("--stop-ids", default="", help="token ids that end the output, like 2,13")


def config_of(args: argparse.Namespace) -> DecodeConfig:
    """The settings; total_tokens left out means 59, or every candidate where there are fewer."""
    total = args.total_tokens
    if total is None:
        total = min(59, max(1, args.top_k + args.depth * args.top_k**2))
    return DecodeConfig(top_k=args.top_k, depth=args.depth, total_tokens=total, max_new_tokens=args.max_new_tokens,
                        temperature=args.temperature, top_p=args.top_p, sample_top_k=args.sample_top_k, seed=args.seed,
                        stop_ids=tuple(id_list(args.stop_ids, "--stop-ids")))


def id_list(text: str, flag: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        raise UserError(f"{flag} is {text!r}; give whole numbers with commas between, like 5,17,3.") from None


def pair_of(args: argparse.Namespace):
    """Load the pair that the flags name, progress on stderr."""
    if bool(args.target) != bool(args.draft):
        raise UserError("--target and --draft go together; give both, or --pair.")
    if args.pair and args.target:
        raise UserError("Give either --pair or --target and --draft, not both.")
    from . import checkpoint, pairs  # torch comes in here, after the flags have been read
    if args.target:
        return checkpoint.load_pair(args.target, args.draft, args.device, args.dtype, args.device_map)
    return pairs.load_named(args.pair or "smollm2-135m", args.device, args.dtype, progress=progress_line)


def progress_line(message: str, fraction: float | None = None) -> None:
    if fraction is None:
        print(message, file=sys.stderr)
    elif sys.stderr.isatty():
        print(f"\r{message}", end="\n" if fraction >= 1 else "", file=sys.stderr, flush=True)


def prompt_of(args: argparse.Namespace, pair) -> tuple[list[int], str | None]:
    from .chat import encode
    if args.ids is not None:
        return id_list(args.ids, "--ids"), None
    text = args.prompt
    if args.prompt_file:
        try:
            text = Path(args.prompt_file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"The prompt file {args.prompt_file} cannot be read as UTF-8 text "
                             f"({getattr(error, 'strerror', None) or error}).") from None
    return encode(pair, text, args.chat), text


def run_command(args: argparse.Namespace) -> int:
    config = config_of(args)
    _check_writable(args.trace)  # before anything slow
    pair = pair_of(args)
    ids, text = prompt_of(args, pair)
    from .check import check
    from .decoder import DecodeError
    from .events import TraceBuilder
    from .record import stream

    builder, failure, started = TraceBuilder(), None, time.perf_counter()
    out = _Printer(colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    with _lines_file(args.trace) as write:
        events = stream(pair, ids, config, text)
        try:
            for event in events:
                write(builder.add(event))
                out.show(event)
        except (DecodeError, KeyboardInterrupt) as error:
            if not builder.document:
                raise
            failure = error
            write(builder.cancel())
        finally:
            events.close()
    seconds = time.perf_counter() - started
    out.end(builder.document["output"]["text"])
    if args.check and failure is None:
        builder.set_check(check(pair, ids, config, builder.document["output"]["token_ids"]))
    trace = builder.trace
    if args.trace and (args.check or not args.trace.endswith(".jsonl")):
        trace.save(args.trace)
    if not args.quiet:
        print()
        for line in summary_lines(trace):
            print(line)
        print(f"{seconds:.1f} s with prefill, {trace.summary.new_tokens / seconds:.1f} new tokens/s")
    if isinstance(failure, KeyboardInterrupt):
        print("stopped; the run so far is marked cancelled", file=sys.stderr)
        return 130
    if failure is not None:
        raise failure
    return 1 if trace.check.lossless is False and trace.pair.dtype == "float32" else 0


class _Printer:
    """The text as it comes, drafted and bonus tokens told apart by colour on a terminal."""

    def __init__(self, colour: bool):
        self.colour, self.shown = colour, ""

    def show(self, event) -> None:
        from .events import CacheCommitted
        if not isinstance(event, CacheCommitted):
            return
        root, drafted = event.texts[0], "".join(event.texts[1:])  # the root is the target's own, the rest was drafted
        self.shown += root + drafted
        print(f"{BONUS}{root}{DRAFTED}{drafted}{RESET}" if self.colour else root + drafted, end="", flush=True)

    def end(self, text: str) -> None:
        """What could only be shown once the run had ended."""
        print(text[len(self.shown):] if text.startswith(self.shown) else "")


def _check_writable(path: str | None) -> None:
    if path is None:
        return
    if not path.endswith((".json", ".json.gz", ".jsonl")):
        raise UserError(f"The trace path {path} should end in .json, .json.gz or .jsonl.")
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise UserError(f"The trace {path} cannot be written: the folder {folder} does not exist; create it first.")
    if Path(path).is_dir():
        raise UserError(f"The trace {path} cannot be written: it is a folder; give a file name.")
    try:
        with open(path, "ab"):
            pass
        if Path(path).stat().st_size == 0:
            Path(path).unlink()
    except OSError as error:
        raise UserError(f"The trace {path} cannot be written ({error.strerror}); choose another place.") from None


@contextlib.contextmanager
def _lines_file(path: str | None):
    """A function that appends lines to a .jsonl trace as the run goes on, or does nothing."""
    if not path or not path.endswith(".jsonl"):
        yield lambda line: None
        return
    with open(path, "w", encoding="utf-8") as file:
        def write(line: str) -> None:
            if line:
                file.write(line)
                file.flush()
        yield write


def show_command(args: argparse.Namespace) -> int:
    trace = Trace.load(args.file)
    for line in (*summary_lines(trace), "", *round_lines(trace, args.round)):
        print(line)
    return 0


def check_trace_command(args: argparse.Namespace) -> int:
    try:
        trace = Trace.load(args.file)
    except TraceError as error:
        print(error)
        return 1
    print(f"{args.file} is a sound trace: {trace.summary.rounds} rounds, {trace.summary.new_tokens} new tokens.")
    return 0


def bench_command(args: argparse.Namespace) -> int:
    config = config_of(args)
    if args.limit < 1:
        raise UserError(f"--limit is {args.limit}; give 1 or more.")
    from .bench import bench, read_prompts
    prompts = read_prompts(args.prompts)[: args.limit]
    pair = pair_of(args)
    for line in bench(pair, config, prompts, chat=not args.no_chat, generate_too=not args.skip_generate):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
