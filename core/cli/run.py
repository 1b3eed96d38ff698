"""The `run` command: decode a prompt, show the text as it comes, and keep the trace whatever happens.

A run that is stopped (Ctrl-C), that fails half-way, or whose reader went away leaves its trace, marked cancelled.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
import time

from ..common.ink import JOINERS, LINES, say, visible
from ..common.records import read_text
from ..config import DecodeConfig
from ..errors import UserError
from ..trace.show import summary_lines
from .flags import clear_line, config_of, id_list, pair_of, progress_line, tell_cost

DRAFTED, BONUS, RESET = "\x1b[32m", "\x1b[33;1m", "\x1b[0m"


def run_command(args: argparse.Namespace) -> int:
    config = config_of(args)
    _check_writable(args.trace)  # before anything slow
    with _reserved(args.trace):
        return _run(args, config)


def _run(args: argparse.Namespace, config: DecodeConfig) -> int:
    ids, text = prompt_of(args)
    pair = pair_of(args)
    from ..measure.check import comparing
    from ..model.steps import memory_for
    from ..pairs.chat import encode
    from ..trace.events import TraceBuilder
    from ..trace.record import stream

    if text is not None:
        ids = encode(pair, text, args.chat or bool(args.chat_template))
    events = stream(pair, ids, config, text)
    tell_cost(config)
    builder, failure, started, seconds = TraceBuilder(), None, time.perf_counter(), 0.0
    out = _Printer(terminal=sys.stdout.isatty())
    with _lines_file(args.trace) as write:
        try:
            with memory_for(pair, ids, config):
                for event in events:
                    with _uninterrupted():  # a round is in the trace whole or not at all
                        write(builder.add(event))
                    out.show(event)
                seconds = time.perf_counter() - started
                out.end(builder.document["output"]["text"])
                if args.check:
                    emitted = builder.document["output"]["token_ids"]
                    for event in comparing(pair, ids, config, emitted):
                        _tell_comparing(event, len(emitted))
                        write(builder.add(event))
        except (UserError, KeyboardInterrupt, BrokenPipeError) as error:  # what was decoded so far is kept
            failure = error
            seconds = seconds or time.perf_counter() - started
            if not builder.document:
                raise
        finally:
            events.close()
            clear_line()
        if "output" not in builder.document:
            with contextlib.suppress(UserError, KeyboardInterrupt), _uninterrupted():
                write(builder.cancel())
    trace = builder.trace
    if args.trace and not _as_lines(args.trace):
        with _uninterrupted(), _disk_errors(args.trace):
            trace.save(args.trace)
    if isinstance(failure, BrokenPipeError):
        raise failure
    if args.quiet and args.check and not isinstance(failure, UserError):
        _tell_check(trace.check)
    if not args.quiet:
        print()
        for line in summary_lines(trace):
            say(line)
        print(f"{seconds:.1f} s with prefill, {trace.summary.new_tokens / seconds:.1f} new tokens/s")
    if isinstance(failure, KeyboardInterrupt):
        cancelled = trace.output.finish_reason == "cancelled"
        print("stopped; the run so far is marked cancelled" if cancelled else "stopped after the run", file=sys.stderr)
        return 130
    if failure is not None:
        raise failure
    return 1 if trace.check.lossless is False else 0


def _tell_comparing(event, tokens: int) -> None:
    """How far the comparison with plain decoding is, in place."""
    from ..trace.events import PlainDecoded, PromptRead
    if isinstance(event, PromptRead):
        progress_line(f"Reading the prompt again, plainly: {event.read:,} of {event.total:,} tokens", event.read / (event.total + 1))
    if isinstance(event, PlainDecoded):
        progress_line(f"Comparing with plain decoding: {event.place:,} of {tokens:,} tokens", event.place / (tokens + 1))


def _tell_check(check) -> None:
    """What a check found, where no summary says so."""
    if not check.lossless:
        said = "not lossless" if check.lossless is False else "lossless was not checked"
        print(f"{said}: {check.note}", file=sys.stderr)


class _Printer:
    """The text as it comes. On a terminal drafted and bonus tokens are told apart by colour, and what would act on it
    is shown instead; a file or a program gets the text itself."""

    def __init__(self, terminal: bool):
        self.terminal, self.shown = terminal, ""
        self.colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def show(self, event) -> None:
        from ..trace.events import CacheCommitted, PromptRead, RootDecided
        if isinstance(event, PromptRead):
            progress_line(f"Reading the prompt: {event.read:,} of {event.total:,} tokens", event.read / event.total)
        if not isinstance(event, RootDecided | CacheCommitted):
            return
        clear_line()
        # the target's own token comes last: the first root by itself, a round's bonus where the run did not end before it
        accepted = len(event.kept) - 1 if isinstance(event, CacheCommitted) else 0
        drafted, own = "".join(event.texts[:accepted]), "".join(event.texts[accepted:])
        self.shown += drafted + own
        drafted, own = self._safe(drafted), self._safe(own)
        if self.colour:
            drafted, own = (f"{colour}{said}{RESET}" if said else "" for colour, said in ((DRAFTED, drafted), (BONUS, own)))
        print(drafted + own, end="", flush=True)

    def end(self, text: str) -> None:
        """What could only be shown once the run had ended."""
        clear_line()
        print(self._safe(text[len(self.shown):]) if text.startswith(self.shown) else "")

    def _safe(self, text: str) -> str:
        return visible(text, LINES + JOINERS) if self.terminal else text


def _as_lines(path: str) -> bool:
    return path.lower().endswith(".jsonl")


def _check_writable(path: str | None) -> None:
    if path is None:
        return
    if not path.lower().endswith((".json", ".json.gz", ".jsonl")):
        raise UserError(f"The trace path {path} should end in .json, .json.gz or .jsonl.")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise UserError(f"The trace {path} cannot be written: the folder {folder} does not exist; create it first.")
    if os.path.isdir(path):
        raise UserError(f"The trace {path} cannot be written: it is a folder; give a file name.")
    with _disk_errors(path):
        for probe in (path, path + ".part"):  # a document is written beside its place and moved there
            new = not os.path.lexists(probe)
            with open(probe, "ab"):
                pass
            if new:
                os.unlink(probe)


@contextlib.contextmanager
def _reserved(path: str | None):
    """The place of the trace for this run alone: two that write there would spoil each other's file."""
    place = os.path.realpath(path) if path else os.devnull
    if os.path.exists(place) and not os.path.isfile(place):  # a device has room for everybody
        yield
        return
    from filelock import FileLock, Timeout
    lock = FileLock(place + ".lock", timeout=0)
    with _disk_errors(path):
        try:
            lock.acquire()
        except Timeout:
            raise UserError(f"The trace {path} is being written by another run; give another file, or wait for that run to "
                            "end.") from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(lock.lock_file)
        lock.release()


@contextlib.contextmanager
def _disk_errors(path: str):
    try:
        yield
    except OSError as error:
        raise UserError(f"The trace {path} cannot be written ({error.strerror or error}); choose another place.") from None


@contextlib.contextmanager
def _lines_file(path: str | None):
    """A function that appends lines to a .jsonl trace as the run goes on, or does nothing."""
    if not path or not _as_lines(path):
        yield lambda line: None
        return
    with _disk_errors(path):
        file = open(path, "w", encoding="utf-8")

    def write(line: str) -> None:
        if line:
            with _disk_errors(path):
                file.write(line)
                file.flush()

    try:
        yield write
    finally:
        with contextlib.suppress(OSError):  # every line was flushed; a full disk has been told of already
            file.close()


@contextlib.contextmanager
def _uninterrupted():
    """Ctrl-C waits until the block is done, then takes effect."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    before = signal.signal(signal.SIGINT, lambda *_: held.append(1))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt


def prompt_of(args: argparse.Namespace) -> tuple[list[int], str | None]:
    """The prompt as the flags give it, before anything slow: ids, or text yet to be encoded."""
    if args.ids is not None:
        if args.chat or args.chat_template:
            raise UserError("--chat wraps text and --ids gives ids; give --prompt, or leave --chat out.")
        return id_list(args.ids, "--ids"), None
    if args.prompt_file is None:
        return [], args.prompt
    return [], read_text(args.prompt_file, "The prompt file")
