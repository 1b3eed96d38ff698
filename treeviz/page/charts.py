"""The charts of a whole run beside the view, as ordinary gradio plots with the definition of every number."""

from __future__ import annotations

import re

import gradio as gr

from .. import figures
from ..story.language import ENGLISH
from ..story.narrate import undrafted
from ..story.phrases import phrase

MARKS = re.compile("[!-/:-@[-`{-~]")  # what Markdown may take for more than itself


def draw(trace, language: str = ENGLISH) -> None:
    """Builds the components of the tab. When it is opened, not before: plots are a large script to load."""
    if trace is None or not trace.rounds:
        said = phrase("chart.none", language) if trace is None else undrafted(trace, language)
        gr.Markdown(MARKS.sub(r"\\\g<0>", said), latex_delimiters=[])  # a token may hold any of them
        return
    gr.Markdown(definitions(trace, language))
    for first in range(0, len(figures.CHARTS), 2):
        with gr.Row():
            for figure in figures.CHARTS[first:first + 2]:
                # no narrower: on a phone they stand one below the other
                gr.Plot(figure(trace, language), show_label=False, min_width=300, elem_classes="tv-chart")


def definitions(trace, language: str = ENGLISH) -> str:
    s = trace.summary
    beyond = 1 + sum(r.accept.length + 1 for r in trace.rounds) - s.new_tokens
    kept = {len(r.tree.candidate) - 1 for r in trace.rounds}
    drafts = "kept.none" if not any(kept) else "kept" if len(kept) == 1 else "kept.most"
    said = [("new", dict(n=s.new_tokens)), ("in", dict(n=s.rounds)), ("tau", dict(tau=f"{s.tau:.2f}")), ("length", {}),
            (drafts, dict(n=max(kept))), ("passes", dict(target=s.target_forwards, head=s.head_forwards))]
    if beyond > 0:
        said.append(("beyond", dict(n=beyond)))
    return "".join(phrase(f"chart.{key}", language, **values) for key, values in said)
