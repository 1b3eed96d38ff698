"""The charts of a whole run beside the view, as ordinary gradio plots with the definition of every number."""

from __future__ import annotations

import gradio as gr

from . import figures

NOTHING = "No run is loaded."


def draw(trace) -> None:
    """Builds the components of the tab. When it is opened, not before: plots are a large script to load."""
    if trace is None or not trace.rounds:
        gr.Markdown(NOTHING)
        return
    gr.Markdown(definitions(trace))
    for row in ((figures.accepted_figure, figures.depth_figure), (figures.time_figure, figures.pace_figure)):
        with gr.Row():
            for figure in row:
                gr.Plot(figure(trace), show_label=False)


def definitions(trace) -> str:
    s = trace.summary
    kept = trace.config["total_tokens"]
    said = [f"**{n}** {word}{'' if n == 1 else 's'}" for n, word in ((s.new_tokens, "new token"), (s.rounds, "round"))]
    beyond = 1 + sum(r.accept.length + 1 for r in trace.rounds) - s.new_tokens
    end = (f" The last chart goes {beyond} further: {'a token' if beyond == 1 else 'tokens'} of the last round that came "
           "after the end of the output.") if beyond > 0 else ""
    return (f"{' in '.join(said)}. "
            f"**tau {s.tau:.2f}**: tokens per round, the mean of accepted length + 1; plain decoding has 1. "
            f"*Accepted length*: drafted tokens accepted in a round, the bonus not counted. "
            f"A round verifies {kept} drafted token{'' if kept == 1 else 's'}; the target ran **{s.target_forwards}** times (one "
            f"a round, and the prefill), the head **{s.head_forwards}** times.{end}")
