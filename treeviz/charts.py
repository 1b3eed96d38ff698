"""The charts of a whole run beside the view, as ordinary gradio plots with the definition of every number."""

from __future__ import annotations

import gradio as gr

from . import figures

NOTHING = "No run is loaded."


def page_charts() -> list:
    """The components of the tab, filled by `draw` when the tab is opened."""
    words = gr.Markdown("Drawing the charts …")
    plots = []
    for _ in range(2):
        with gr.Row():
            plots += [gr.Plot(show_label=False, min_width=330, elem_classes="tv-chart") for _ in range(2)]
    return [words, *plots]


def draw(trace) -> list:
    """Values for the components of `page_charts`."""
    if trace is None or not trace.rounds:
        return [gr.HTML(NOTHING, visible=True), *[gr.update(visible=False)] * 5]
    drawn = (figures.accepted_figure, figures.depth_figure, figures.time_figure, figures.pace_figure)
    return [gr.HTML(visible=False), gr.Markdown(definitions(trace), visible=True),
            *(gr.Plot(figure(trace), visible=True) for figure in drawn)]


def definitions(trace) -> str:
    s = trace.summary
    kept = trace.config["total_tokens"]
    return (f"**{s.new_tokens}** new tokens in **{s.rounds}** rounds. "
            f"**tau {s.tau:.2f}**: tokens per round, the mean of accepted length + 1; plain decoding has 1. "
            f"*Accepted length*: drafted tokens accepted in a round, the bonus not counted. "
            f"A round verifies {kept} drafted tokens; the target ran **{s.target_forwards}** times (one a round, and the "
            f"prefill), the head **{s.head_forwards}** times.")
