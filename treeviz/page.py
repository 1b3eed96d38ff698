"""The page: gradio's layout around the view. Python hears only "decode", "stop", "load", "show the charts" and
which language to speak."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import gradio as gr

from core.errors import UserError
from core.trace import TraceError

from . import charts
from .choices import Source, request_of
from .form import AS_TYPED, QUIET, Form, heading
from .gallery import lines_of, lines_of_file, recorded
from .lines import trace_of
from .live import Engine
from .narrate import LANGUAGES
from .phrases import phrase, said_by, say
from .spoken import Spoken, Words
from .turns import Pace, Turns
from .view import message, message_view, trace_view

SAVE = "() => document.querySelector('.tv').treeviz.save()"
# Asks for the charts again where they are looked at, which is where the view is not in sight.
REDRAW = """() => {
  const view = document.querySelector('.tv');
  if (view && !view.getClientRects().length) view.treeviz.trigger('retry');
}"""
LANGUAGE = "(_, ...others) => [document.documentElement.lang, ...others]"  # the view's switch writes it there
STYLE = """<style>
.gradio-container { overflow: clip !important; }  /* hidden would keep the sentence from staying in sight */
.gradio-container .app { padding: 8px 20px 16px !important; }
.gradio-container .tab-wrapper { padding-left: 18px; }
.gradio-container .block.tv-host > .html-container { padding: 8px 0 0; }
.gradio-container .sidebar { border-right: 1px solid var(--border-color-primary); }
.gradio-container .tv-form { gap: 10px; }
.gradio-container .sidebar .block:has(.tv-message[hidden]) { display: none; }
.gradio-container :is(#tv-message, #tv-opened) .html-container { padding: 0; }
.gradio-container .sidebar button.secondary { border: 1px solid var(--border-color-primary); }
.gradio-container .tv-form .tv-knobs > .block, .gradio-container .tv-form .tv-knobs .form > .block { border: 0; padding: 8px 0; }
.gradio-container .tv-form .tv-knobs .form { border: 0; box-shadow: none; }
.gradio-container .tv-form .tv-knobs .head { position: relative; }
.gradio-container .tv-form .tv-knobs .tab-like-container { position: absolute; top: -7px; right: 0; }
.gradio-container footer { opacity: .6; }
.tv-chart .main-svg text:is(.gtitle, .xtitle, .ytitle, .legendtext, .xtick text, .ytick text) { fill: var(--body-text-color) !important; }
.tv-chart .plotlyjsicon { display: none; }
body.tv-present .tab-wrapper, body.tv-present .sidebar, body.tv-present footer { display: none; }
body.tv-present .app { padding: 8px 20px !important; }
/* on a phone it would lie over the text; the view has a button that opens the same */
@media (max-width: 760px) { .gradio-container .sidebar:not(.open) .toggle-button { display: none; } }
@media (max-width: 760px) { .gradio-container .app { padding: 8px 10px 16px !important; } }
</style>"""
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


LAUNCH = dict(ssr_mode=False, max_file_size="64mb", run_history=False, footer_links=["api"], head=STYLE, theme=_theme())


@dataclass(frozen=True, slots=True)
class Options:
    source: Source
    demo: bool = False          # recorded runs only
    trace: str | None = None    # a file to open with


class Page(gr.Blocks):
    """Blocks that answer values they cannot use with a sentence: gradio answers null, and a traceback in the log."""

    async def preprocess_data(self, block_fn, inputs, *others, **settings):
        try:
            if _elsewhere(inputs):
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


def build_page(options: Options) -> gr.Blocks:
    """The Blocks of the whole page. Raises TraceError where the file to open with is not a trace."""
    runs = {run.sentence: run for run in recorded(options.trace)}
    first, opening = _opening(list(runs.values()), options.trace)
    put = Spoken(options.source.name)
    with Page(title="TreeViz", fill_width=True, analytics_enabled=False, delete_cache=(3600, 3600)) as demo:
        language = gr.Radio(list(LANGUAGES), value="en", visible=False)  # the browser keeps it for whoever asks
        with gr.Sidebar(width=330, open=False) as side:
            form = None if options.demo else Form(options.source, Engine(options.source), put, language)
            put(gr.HTML, says=heading("recorded"), padding=False)
            choice = put(gr.Radio, says=_sentences(runs), value=first, show_label=False, container=False)  # labelled for the ear
            opened = message_view(elem_id="tv-opened")  # beside the buttons it answers to
            with gr.Row():
                small = dict(size="sm", min_width=90)
                upload = put(gr.UploadButton, says={"label": "open"}, file_types=[".json", ".gz", ".jsonl"], **small)
                save = put(gr.Button, says={"value": "save"}, **small)
        with gr.Tabs():
            with put(gr.Tab, says={"label": "tab.round"}):
                view = trace_view(opening, elem_id="tv-view")
            with put(gr.Tab, says={"label": "tab.run"}) as run_tab:
                @gr.render(inputs=[view, language], triggers=[run_tab.select, view.retry], show_progress="hidden")
                def show(lines, language):
                    charts.draw(trace_of(lines) if lines else None, language)

        hidden = dict(show_progress="hidden", api_visibility="private")
        changed = [_speak(put, view, language, form), *_open_recorded(runs, upload, choice, view, opened, hidden)]
        save.click(None, None, None, js=SAVE, api_visibility="private")
        if form:
            turns = Turns()
            ran = _decode_live(form, turns, choice, opened, view, hidden)
            for asked in (ran.then, side.expand):
                asked(form.refresh, [form.pair, language], form.pair, **QUIET)
            demo.unload(_leave(turns))
            changed.append(ran)
            _api(form.engine, turns)
        for event in changed:  # of a live run its end, not each of its rounds
            event.then(None, None, None, js=REDRAW, **QUIET)
    return demo


def _sentences(runs: dict) -> Words:
    return lambda language, _: {"label": phrase("recorded", language),
                                "choices": [(run.said.get(language, name), name) for name, run in runs.items()]}


def _speak(put: Spoken, view, language, form: Form | None):
    """The page follows the view's switch of language: every word of it, and nothing else."""

    def speak(language, pair=""):
        return [language, *(gr.update(**words) for words in put.words(language, pair))]

    # always_last: of two quick switches, the second counts
    return view.language(speak, [language, *([form.pair] if form else [])], [language, *put.parts], js=LANGUAGE,
                         trigger_mode="always_last", **QUIET)


def _leave(turns: Turns):
    def leave(request: gr.Request):
        turns.leave(request.session_hash)
    return leave


def _decode_live(form: Form, turns: Turns, choice, opened, view, hidden: dict):
    """What Decode and Stop do. A run waits for its turn, then streams into the view."""

    def decode(ticket, *values):
        last, pace, ended = "", Pace(), turns.stop_of(ticket)
        try:
            request = form.request(*values)
            for ahead in turns.wait(ticket):
                if pace.new(place := say("ahead", n=ahead)):
                    yield gr.skip(), message("busy", place)
            for update in () if ended.is_set() else form.engine.run(request, ended):
                last = update.lines or last
                if update.note:
                    if pace.new(update.note):
                        yield gr.skip(), message("busy", update.note)
                elif pace.due(len(last)):
                    yield last, message("busy", say("decoding"))
            how, notes = say("stopped" if ended.is_set() else "done"), form.engine.notes(request["pair"])
            yield last or gr.skip(), message("ok", say("noted", how=how, notes=notes) if notes else how)
        except ValueError as error:  # every error of the decoder is a sentence
            yield last or gr.skip(), message("error", said_by(error, "error.decoder"))
        except gr.Error as error:  # of ZeroGPU: no GPU is free, or a visitor's share of it is used up
            yield last or gr.skip(), message("error", said_by(error.message, "error.decoder"))
        finally:
            turns.done(ticket)

    def begin(request: gr.Request):
        return turns.begin(request.session_hash), None, ""  # no recorded run is chosen while a live one is shown

    def stop(request: gr.Request):
        turns.stop(request.session_hash)

    ticket = gr.State()
    form.stop.click(stop, None, None, **QUIET)
    asked = gr.on([form.decode.click, form.prompt.submit], begin, None, [ticket, choice, opened], **QUIET)
    return asked.then(decode, [ticket, *form.inputs], [view, form.message], concurrency_limit=None, api_name="live",
                      **AS_TYPED, **hidden)


def _open_recorded(runs: dict, upload, choice, view, opened, hidden: dict) -> list:
    """A recorded run, chosen from the list, named by a link, or brought as a file."""

    def load(file):
        """The page needs nothing of the file once it has been read, so it is gone then."""
        path = Path(file["path"] if file else "")
        try:
            return lines_of_file(path), message("ok", say("opened")), None
        except TraceError as error:
            return gr.skip(), message("error", said_by(error, "error.trace")).replace(str(path), path.name), gr.skip()
        finally:
            with suppress(OSError):  # no file, and not there any more
                path.unlink()

    def pick(name):
        if name not in runs:
            return gr.skip(), gr.skip()
        try:
            return lines_of(runs[name].path, runs[name].name), ""
        except TraceError as error:
            return gr.skip(), message("error", said_by(error, "error.trace"))

    def follow_link(event: gr.EventData):
        """A link names a recorded run; the view asks for it when it opens."""
        wanted = str(event._data.get("run")) if isinstance(event._data, dict) else ""
        name = next((sentence for sentence, run in runs.items() if run.name == wanted), None)
        return (gr.skip(), gr.skip()) if name is None else (pick(name)[0], name)

    # unread, its value is where the file lies, in our own folder; read, gradio leaves an empty file behind for each
    return [upload.upload(load, upload, [view, opened, choice], preprocess=False, **hidden),
            choice.input(pick, choice, [view, opened], **hidden),
            view.select(follow_link, None, [view, choice], **hidden)]


def _opening(runs: list, wanted: str | None) -> tuple[str | None, str]:
    """The run to open with, its sentence and its lines: the first that can be read. Raises TraceError for `wanted`."""
    for run in runs:
        try:
            return run.sentence, lines_of(run.path, run.name)
        except TraceError:
            if wanted:
                raise
    return None, ""


def _api(engine: Engine, turns: Turns) -> None:
    def decode(prompt: str, chat: bool = True, top_k: int = 10, depth: int = 5, total_tokens: int = 59,
               temperature: float = 0.0, top_p: float = 1.0, max_new_tokens: int = 64, seed: int = 0,
               draft_vocab: int = 0, pair: str = "") -> dict:
        """Decode a prompt and return the whole run as an EAGLE-2 trace (the JSON document of the README). `pair` is one
        of those that the page offers, "" the page's own."""
        numbers = dict(top_k=top_k, depth=depth, total_tokens=total_tokens, temperature=temperature, top_p=top_p,
                       max_new_tokens=max_new_tokens, seed=seed, draft_vocab=draft_vocab)
        ticket = turns.begin(None)
        try:
            request = request_of(engine.offered(pair), prompt, chat, numbers)
            for _ in turns.wait(ticket):
                pass
            return engine.trace(request)
        except ValueError as error:
            raise gr.Error(str(error), print_exception=False) from None
        finally:
            turns.done(ticket)

    gr.api(decode, api_name="decode", concurrency_limit=None)
