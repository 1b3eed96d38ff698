"""The page: gradio's layout around the view. Python hears only "decode", "stop", "load" and "show the charts"."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from core.config import DecodeConfig, candidate_count
from core.trace import Trace, TraceError

from . import charts
from .gallery import lines_of, recorded
from .lines import page_lines, trace_of
from .live import Engine, Source
from .turns import Pace, Turns
from .view import message_view, trace_view

EXAMPLES = ["Why is the sky blue?", "Write a Python function that reverses a string.",
            "List the first ten prime numbers.", "Tell a short story about a fox and a crow."]
SAVE = "() => document.querySelector('.tv').treeviz.save()"
STYLE = """<style>
.gradio-container { overflow: clip !important; }  /* hidden would keep the sentence from staying in sight */
.gradio-container .app { padding: 8px 20px 16px !important; }
.gradio-container .tab-wrapper { padding-left: 18px; }
.gradio-container .block.tv-host > .html-container { padding: 8px 0 0; }
.gradio-container .sidebar { border-right: 1px solid var(--border-color-primary); }
.gradio-container .tv-side-text p { font-size: 13px; color: var(--body-text-color-subdued); }
.gradio-container footer { opacity: .6; }
body.tv-present .tab-wrapper, body.tv-present .sidebar, body.tv-present footer { display: none; }
body.tv-present .app { padding: 8px 20px !important; }
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


LAUNCH = dict(ssr_mode=False, run_history=False, footer_links=["api"], head=STYLE, theme=_theme())


@dataclass(frozen=True, slots=True)
class Options:
    source: Source
    demo: bool = False          # recorded runs only
    trace: str | None = None    # a file to open with


def build_page(options: Options) -> gr.Blocks:
    """The Blocks of the whole page. Raises TraceError where the file to open with is not a trace."""
    runs = {run.sentence: run for run in recorded(options.trace)}
    first, opening = _opening(list(runs.values()), options.trace)
    engine, turns = Engine(options.source), Turns()

    with gr.Blocks(title="TreeViz", fill_width=True, analytics_enabled=False) as demo:
        with gr.Sidebar(width=330, open=False):
            with gr.Column(visible=not options.demo):
                prompt, chat, decode_button, stop_button = _prompt_form(options)
            message = message_view(elem_id="tv-message")
            with gr.Column(visible=not options.demo):
                inputs = [prompt, chat, *_settings()]
            gr.Markdown("### Recorded runs")
            names = list(runs)
            choice = gr.Radio(names, value=first, show_label=False, container=False)
            with gr.Row():
                upload = gr.UploadButton("Open a trace", size="sm", min_width=90, file_types=[".json", ".gz", ".jsonl"])
                save = gr.Button("Save this trace", size="sm", min_width=90)
        with gr.Tabs():
            with gr.Tab("Inside a round"):
                view = trace_view(opening, elem_id="tv-view")
            with gr.Tab("The whole run") as run_tab:
                plots = charts.page_charts()

        def decode(ticket, prompt, chat, top_k, depth, total, temperature, top_p, most, seed):
            last, pace, ended = "", Pace(), turns.stop_of(ticket)
            try:
                config = DecodeConfig(top_k=int(top_k), depth=int(depth), total_tokens=int(total), seed=int(seed or 0),
                                      temperature=temperature, top_p=top_p, max_new_tokens=int(most))
                for update in () if ended.is_set() else engine.run(prompt or "", chat, config, ended):
                    last = update.lines or last
                    if update.note:
                        yield gr.skip(), f"busy:{update.note}"
                    elif pace.due(len(last)):
                        yield last, "busy:Decoding."
                yield last or gr.skip(), "ok:Stopped." if ended.is_set() else "ok:Done."
            except ValueError as error:  # every error of the decoder is a sentence
                yield last or gr.skip(), f"error:{error}"
            finally:
                turns.done(ticket)

        def begin(request: gr.Request):
            return turns.begin(request.session_hash), None  # no recorded run is chosen while a live one is shown

        def stop(request: gr.Request):
            turns.stop(request.session_hash)

        def leave(request: gr.Request):
            turns.leave(request.session_hash)

        def load(file):
            try:
                return page_lines(Trace.load(file)), "ok:Opened.", None
            except TraceError as error:
                return gr.skip(), f"error:{str(error).replace(str(file), 'The file')}", gr.skip()

        def pick(name):
            if name not in runs:
                return gr.skip(), gr.skip()
            try:
                return lines_of(runs[name].path, runs[name].name), ""
            except TraceError as error:
                return gr.skip(), f"error:{error}"

        def follow_link(event: gr.EventData):
            """A link names a recorded run; the view asks for it when it opens."""
            wanted = str(event._data.get("run")) if isinstance(event._data, dict) else ""
            name = next((sentence for sentence, run in runs.items() if run.name == wanted), None)
            return (gr.skip(), gr.skip()) if name is None else (pick(name)[0], name)

        ticket = gr.State()
        hidden = dict(show_progress="hidden", api_visibility="private")
        asked = gr.on([decode_button.click, prompt.submit], begin, None, [ticket, choice], queue=False, **hidden)
        asked.then(decode, [ticket, *inputs], [view, message], concurrency_id="decode", concurrency_limit=1,
                   show_progress="minimal", show_progress_on=[message], api_name="live", api_visibility="private")
        stop_button.click(stop, None, None, queue=False, **hidden)
        demo.unload(leave)
        upload.upload(load, upload, [view, message, choice], **hidden)
        choice.input(pick, choice, [view, message], **hidden)
        view.select(follow_link, None, [view, choice], **hidden)
        save.click(None, None, None, js=SAVE, api_visibility="private")
        run_tab.select(lambda lines: charts.draw(trace_of(lines) if lines else None), view, plots, **hidden)
        if not options.demo:
            _api(engine)
    return demo


def _opening(runs: list, wanted: str | None) -> tuple[str | None, str]:
    """The run to open with, its sentence and its lines: the first that can be read. Raises TraceError for `wanted`."""
    for run in runs:
        try:
            return run.sentence, lines_of(run.path, run.name)
        except TraceError:
            if wanted:
                raise
    return None, ""


def _prompt_form(options: Options):
    gr.Markdown("### Decode a prompt")
    prompt = gr.Textbox(label="Prompt", lines=3, max_lines=8, value=EXAMPLES[0], max_length=20000,
                        placeholder="What should the model go on from?")
    gr.Examples(EXAMPLES, prompt, label="Examples", api_visibility="private")
    chat = gr.Checkbox(True, label="As a chat message", info="Wraps the prompt in the model's chat template.")
    with gr.Row():
        decode_button = gr.Button("Decode", variant="primary", min_width=100)
        stop_button = gr.Button("Stop", min_width=80)
    cost = ("The first run loads the pair: some seconds, and where the model hub cannot be reached a download of 93 MB, once."
            if not options.source.target else "The first run loads the pair, which takes some seconds.")
    gr.Markdown(f"Pair: `{options.source.name}`. {cost}", elem_classes="tv-side-text")
    return prompt, chat, decode_button, stop_button


def _settings() -> list:
    with gr.Accordion("The tree", open=False):
        top_k = gr.Slider(1, 16, 10, step=1, label="top_k", info="Children per token, and tokens expanded per layer.")
        depth = gr.Slider(0, 10, 5, step=1, label="depth", info="Layers after the first.")
        total = gr.Slider(1, candidate_count(10, 5), 59, step=1, label="total_tokens",
                          info="Drafted tokens that are kept and verified; at most as many as there are candidates.")
    with gr.Accordion("Sampling and length", open=False):
        temperature = gr.Slider(0, 2, 0, step=0.05, label="temperature", info="0 is greedy: always the likeliest token.")
        top_p = gr.Slider(0.05, 1, 1, step=0.05, label="top-p", info="Sample from this much of the probability only.")
        most = gr.Slider(1, 2048, 64, step=1, label="max_new_tokens", info="The run ends after this many tokens.")
        seed = gr.Number(0, precision=0, minimum=0, label="seed", info="The same seed draws the same tokens.")

    def limit(k, d, now):
        most_tokens = candidate_count(int(k), int(d))
        return gr.Slider(maximum=most_tokens, value=min(int(now), most_tokens))

    gr.on([top_k.release, depth.release, top_k.change, depth.change], limit, [top_k, depth, total], total, queue=False,
          show_progress="hidden", api_visibility="private")
    return [top_k, depth, total, temperature, top_p, most, seed]


def _api(engine: Engine) -> None:
    def decode(prompt: str, chat: bool = True, top_k: int = 10, depth: int = 5, total_tokens: int = 59,
               temperature: float = 0.0, top_p: float = 1.0, max_new_tokens: int = 64, seed: int = 0) -> dict:
        """Decode a prompt and return the whole run as an EAGLE-2 trace (the JSON document of the README)."""
        try:
            config = DecodeConfig(top_k=top_k, depth=depth, total_tokens=total_tokens, temperature=temperature,
                                  top_p=top_p, max_new_tokens=max_new_tokens, seed=seed)
            return engine.trace(prompt, chat, config)
        except ValueError as error:
            raise gr.Error(str(error), print_exception=False) from None

    gr.api(decode, api_name="decode", concurrency_id="decode", concurrency_limit=1)
