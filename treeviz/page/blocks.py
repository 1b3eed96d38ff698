"""The page: gradio's layout around the view. Python hears only "decode", "stop", "load", "show the charts" and
which language to speak."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import gradio as gr
from starlette.middleware import Middleware

from core.errors import UserError
from core.trace import TraceError

from ..story.language import ENGLISH, LANGUAGES
from ..story.lines import trace_of
from ..story.phrases import phrase, said_by, say
from ..view import PACK, head, message, message_view, script, trace_view
from . import charts
from .choices import Source
from .decoding import wire_api, wire_form
from .form import QUIET, Form, heading
from .gallery import lines_in, recorded
from .inbox import Inbox
from .live import Engine
from .measuring import wire_measuring
from .runs import Runs
from .shelf import Shelf
from .space import visitor
from .spoken import Spoken, Words
from .wire import Listeners, lines_route, pack_route

PAPER, CARD, RULE = ("#fbfaf6", "#12161b"), ("#ffffff", "#181d24"), ("#e2ded5", "#2b323b")


def _theme() -> gr.Theme:
    colours = {"body_background_fill": PAPER, "background_fill_primary": PAPER, "background_fill_secondary": PAPER,
               "block_background_fill": CARD, "input_background_fill": PAPER, "border_color_primary": RULE,
               "block_border_color": RULE, "input_border_color": RULE, "button_secondary_background_fill": CARD,
               "checkbox_label_background_fill": CARD, "code_background_fill": PAPER}
    names = {name + end: value for name, pair in colours.items() for end, value in zip(("", "_dark"), pair)}
    return gr.themes.Default(primary_hue="emerald", neutral_hue="slate", radius_size="lg",
                             font=["Inter", "Helvetica Neue", "Arial", "sans-serif"],
                             font_mono=["ui-monospace", "DejaVu Sans Mono", "monospace"]).set(**names)


EVENTS = 64     # that may wait in gradio's queue
SESSIONS = 256  # visitors of whom gradio remembers what they see
SHOWN = 9       # lines of a trace that somebody brought, after which it is shown
LAUNCH = dict(ssr_mode=False, state_session_capacity=SESSIONS, max_file_size="64mb", run_history=False, enable_monitoring=False,
              mcp_server=False, footer_links=["api"], head=head(), theme=_theme())


@dataclass(frozen=True, slots=True)
class Options:
    source: Source
    demo: bool = False          # recorded runs only
    trace: str | None = None    # a file to open with


class Page(gr.Blocks):
    """Blocks that answer values they cannot use with a sentence: gradio answers null, and a traceback in the log."""

    async def preprocess_data(self, block_fn, inputs, *others, **settings):
        try:
            if block_fn.fn is None or _elsewhere(inputs):  # what the browser does alone is nothing to ask for here
                raise ValueError
            return await super().preprocess_data(block_fn, inputs, *others, **settings)
        except Exception:  # another kind of value, too few of them, a file that nobody brought
            raise gr.Error(phrase("error.values"), print_exception=False) from None

    async def call_function(self, *others, **settings):
        try:
            return await super().call_function(*others, **settings)
        except gr.Error as error:
            error.print_exception = False
            raise
        except UserError as error:
            raise gr.Error(str(error), print_exception=False) from None


def _elsewhere(value) -> bool:
    """Is there a file in it that gradio would fetch, from wherever its path says?"""
    if isinstance(value, dict):
        return "://" in str(value.get("path", "")) or any(map(_elsewhere, value.values()))
    return isinstance(value, list) and any(map(_elsewhere, value))


def build_page(options: Options) -> tuple[gr.Blocks, dict]:
    """The Blocks of the whole page, and what to launch them with. Raises TraceError where the file to open with is not a
    trace."""
    listeners = Listeners()
    runs = Runs(listeners.silence)
    shelf = Shelf(recorded(options.trace), runs)
    first = shelf.first(options.trace)
    put = Spoken(options.source.name)
    with Page(title="TreeViz", fill_width=True, analytics_enabled=False) as demo:
        language = gr.Radio(list(LANGUAGES), value=ENGLISH, visible=False)  # the browser keeps it for whoever asks
        with gr.Sidebar(width=330, open=False) as side:
            form = None if options.demo else Form(options.source, Engine(options.source), put, language)
            put(gr.HTML, says=heading("recorded"), padding=False)
            choice = put(gr.Radio, says=_sentences(shelf), value=first, show_label=False, container=False)  # labelled for the ear
            opened = message_view(elem_id="tv-opened")  # beside the buttons it answers to
            with gr.Row():
                small = dict(size="sm", min_width=90)
                upload = put(gr.UploadButton, says={"label": "open"}, file_types=[".json", ".gz", ".jsonl"], **small)
                save = put(gr.Button, says={"value": "save"}, **small)
        with gr.Tabs():
            with put(gr.Tab, says={"label": "tab.round"}):
                view = trace_view(shelf.pick(first) if first else "", address=PACK, elem_id="tv-view")
            with put(gr.Tab, says={"label": "tab.run"}) as run_tab:
                @gr.render(inputs=[view, language], triggers=[run_tab.select, view.retry], show_progress="hidden")
                def show(reference, language):
                    lines = shelf.lines(reference)
                    charts.draw(trace_of(lines) if lines else None, language)

        hidden = dict(show_progress="hidden", api_visibility="private")
        changed = [_speak(put, view, language, form), *_open_recorded(shelf, runs, upload, choice, view, opened, hidden)]
        save.click(None, None, None, js=script("save"), api_visibility="private")
        if form:
            ran = wire_form(form, runs, choice, opened, view, hidden)
            for asked in (ran.then, side.expand):
                asked(form.refresh, [form.pair, language], form.pair, **QUIET)
            demo.unload(_leave(runs))
            changed.append(ran)
            wire_api(form.engine, runs)
        wire_measuring(form.engine if form else None, runs)
        for event in changed:  # of a live run its end, not each of its rounds
            event.then(None, None, None, js=script("redraw"), **QUIET)
    Inbox(demo.queue(max_size=EVENTS)._queue, listeners.silence)
    return demo, LAUNCH | {"app_kwargs": {"routes": [lines_route(shelf.find), pack_route()], "middleware": [Middleware(listeners.around)]}}


def _sentences(shelf: Shelf) -> Words:
    return lambda language, _: {"label": phrase("recorded", language),
                                "choices": [(run.said.get(language, name), name) for name, run in shelf.recorded.items()]}


def _speak(put: Spoken, view, language, form: Form | None):
    """The page follows the view's switch of language: every word of it, and nothing else."""

    def speak(language, pair=""):
        return [language, *(gr.update(**words) for words in put.words(language, pair))]

    # always_last: of two quick switches, the second counts
    return view.language(speak, [language, *([form.pair] if form else [])], [language, *put.parts], js=script("language"),
                         trigger_mode="always_last", **QUIET)


def _leave(runs: Runs):
    def leave(request: gr.Request):
        """The tab was closed."""
        runs.stop(request.session_hash)
    return leave


def _open_recorded(shelf: Shelf, runs: Runs, upload, choice, view, opened, hidden: dict) -> list:
    """A recorded run, chosen from the list, named by a link, or brought as a file."""

    def load(request: gr.Request, file):
        """The page needs nothing of the file once it has been read, so it is gone then."""
        path = Path(file["path"] if file else "")
        opening = message("busy", say("opening"))
        yield gr.skip(), opening, gr.skip()
        try:
            with runs.brought(visitor(request)) as run:
                for line in lines_in(path):
                    run.add(line)
                    if run.count == SHOWN:  # a long one can be looked at before all of it is told
                        yield shelf.live(run), opening, None
            yield shelf.live(run) if run.count < SHOWN else gr.skip(), message("ok", say("opened")), None
        except TraceError as error:
            yield gr.skip(), message("error", said_by(error, "error.trace")).replace(str(path), path.name), gr.skip()
        finally:
            with suppress(OSError):  # no file, and not there any more
                path.unlink()

    def pick(sentence):
        if sentence not in shelf.recorded:
            return gr.skip(), gr.skip()
        try:
            return shelf.pick(sentence), ""
        except TraceError as error:
            return gr.skip(), message("error", said_by(error, "error.trace"))

    def follow_link(event: gr.EventData):
        """A link names a recorded run; the view asks for it when it opens."""
        wanted = str(event._data.get("run")) if isinstance(event._data, dict) else ""
        sentence = next((sentence for sentence, run in shelf.recorded.items() if run.name == wanted), None)
        return (gr.skip(), gr.skip()) if sentence is None else (pick(sentence)[0], sentence)

    # unread, its value is where the file lies, in our own folder; read, gradio leaves an empty file behind for each
    return [upload.upload(load, upload, [view, opened, choice], preprocess=False, **hidden),
            choice.input(pick, choice, [view, opened], **hidden),
            view.select(follow_link, None, [view, choice], **hidden)]
