"""What Decode, Stop and the endpoint `/decode` do: a run for whoever asks, in turn, told in few words.

What a run decodes goes into the run itself; of what is said here gradio keeps the last word of every session.
"""

from __future__ import annotations

from contextlib import closing

import gradio as gr

from ..story.phrases import said_by, say
from ..view import message
from .choices import request_of
from .form import AS_TYPED, QUIET, Form
from .live import Engine
from .runs import Pace, Run, Runs
from .shelf import Shelf
from .space import visitor


def wire_form(form: Form, runs: Runs, choice, opened, view, hidden: dict):
    """Ties the form's buttons to its visitor's runs. Returns the event of a run, for what follows it."""

    def decode(request: gr.Request, *values):
        try:
            wanted = form.request(*values)
            run = runs.begin(request.session_hash, visitor(request))
        except ValueError as error:  # nothing has begun, and what went on goes on
            yield _told("error", said_by(error, "error.decoder"))
            return
        try:
            yield from _follow(run, runs, form.engine, wanted)
            if not run.replaced:
                how, notes = say("stopped" if run.over() else "done"), form.engine.notes(wanted["pair"])
                yield _told("ok", say("noted", how=how, notes=notes) if notes else how)
        except ValueError as error:  # every error of the decoder is a sentence
            yield _told("error", said_by(error, "error.decoder"))
        except gr.Error as error:  # of ZeroGPU: no GPU is free, or a visitor's share of it is used up
            yield _told("error", said_by(error.message, "error.decoder"))
        finally:
            runs.finish(run)

    def stop(request: gr.Request):
        runs.stop(request.session_hash)

    form.stop.click(stop, None, None, **QUIET)
    # multiple: a new run is asked for while the one before, which it ends, is still saying its last words
    return gr.on([form.decode.click, form.prompt.submit], decode, form.inputs, [view, form.message, choice, opened],
                 concurrency_limit=None, trigger_mode="multiple", api_name="live", **AS_TYPED, **hidden)


def _told(kind: str, said: dict) -> tuple:
    """A word for the person waiting; the view, the choice and what was opened stay."""
    return gr.skip(), message(kind, said), gr.skip(), gr.skip()


def _follow(run: Run, runs: Runs, engine: Engine, wanted: dict):
    """What the page hears of a run: its place in the line, how it goes, and with its first round where to read it.
    Until then the last good run stays."""
    pace = Pace()
    for ahead, length in runs.wait(run):
        place = say("ahead", n=ahead, length=length)
        if ahead and pace.new(place):
            yield _told("busy", place)
    with closing(engine.run(wanted, run.over)) as updates:
        for update in updates:
            first = not run.count
            run.add(update.lines)
            if run.replaced:
                continue
            if first and run.count:  # no recorded run is chosen while a live one is shown
                yield Shelf.live(run), message("busy", say("decoding")), None, ""
            elif update.note and pace.new(update.note):
                yield _told("busy", update.note)


def wire_api(engine: Engine, runs: Runs) -> None:
    """The one public endpoint."""

    def decode(request: gr.Request, prompt: str, chat: bool = True, top_k: int = 10, depth: int = 5,
               total_tokens: int = 59, temperature: float = 0.0, top_p: float = 1.0, max_new_tokens: int = 64,
               seed: int = 0, draft_vocab: int = 0, pair: str = "", policy: str = "eagle2", length: int = 5,
               compare: bool = False) -> dict:
        """Decode a prompt and return the whole run as an EAGLE-2 trace (the JSON document of the README). `pair` is one
        of those that the page offers, "" the page's own; `policy` is eagle2 (top_k, depth, total_tokens), chain (length),
        plain, or, as they usually are, static, cartesian, sequoia or optimal; `compare` decodes a greedy run
        plainly too, and says in its `check` what that found and took."""
        numbers = dict(top_k=top_k, depth=depth, total_tokens=total_tokens, length=length, temperature=temperature, top_p=top_p,
                       max_new_tokens=max_new_tokens, seed=seed, draft_vocab=draft_vocab)
        try:
            wanted = request_of(engine.offered(pair), prompt, chat, numbers, engine.source, policy, compare)
            run = runs.begin(request.session_hash, visitor(request), anew=False)
        except ValueError as error:
            raise gr.Error(str(error), print_exception=False) from None
        try:
            for _ in runs.wait(run):
                pass
            return engine.trace(wanted, run.over)
        except ValueError as error:
            raise gr.Error(str(error), print_exception=False) from None
        finally:
            runs.finish(run)

    gr.api(decode, api_name="decode", concurrency_limit=None)
