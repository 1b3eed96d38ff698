"""Plotly figures: a round's tree and mask, and the charts of a run. For the page's second tab and for notebooks.

Backgrounds are transparent and inks are middle greys, so that a figure reads on light and on dark.
"""

from __future__ import annotations

from functools import wraps
from math import exp

import plotly.graph_objects as go

from core.common.ink import visible

from .story.frames import ABSENT, FRAMES, frames
from .story.labels import number, show
from .story.language import ENGLISH
from .story.layout import boxes, layout
from .story.narrate import undrafted
from .story.phrases import phrase

INK, GRID = "#7d8590", "rgba(125,133,144,.25)"
BLUE, SKY, GREEN, VERMILION, ORANGE, PURPLE = "#0072B2", "#56B4E9", "#009E73", "#D55E00", "#E69F00", "#CC79A7"
BUTTONS = ["zoom", "pan", "select", "lasso", "zoomIn", "zoomOut", "autoScale", "resetScale"]  # dragging zooms, a double click resets
MARKERS = {  # by state: (symbol, fill, outline)
    "R": ("square", "#444b54", INK), "k": ("circle", SKY, BLUE),
    "e": ("circle", PURPLE, PURPLE), "s": ("circle-open", INK, INK),
    "p": ("circle-open-dot", INK, INK), "a": ("diamond", GREEN, GREEN),
    "x": ("x", VERMILION, VERMILION), "b": ("star", ORANGE, ORANGE),
}
EDGE = {  # by the state of the child; any other as "k"
    "k": dict(color=GRID, width=1.2), "p": dict(color=GRID, width=1.2, dash="dot"), "a": dict(color=GREEN, width=3),
    "x": dict(color=VERMILION, width=1.4), "b": dict(color=ORANGE, width=1.8, dash="dot"),
}
SHORT, LONG = 14, 200  # characters of a token at its box, and when it is pointed at
LABEL = 0.62  # of the way to the next depth: as far a label runs on its line, then the edges leave


class Figure(go.Figure):
    """A plotly figure that a notebook shows without the package nbformat too, which plotly asks for and hardly needs."""

    def show(self, *args, **how):
        try:
            return super().show(*args, **how)
        except ValueError as error:
            if "nbformat" not in str(error):
                raise
        from IPython.display import display
        return display(self._repr_mimebundle_(), raw=True)

    def _ipython_display_(self):
        self.show()


def _figure(title: str, **layout_) -> Figure:
    figure = Figure()
    figure.update_layout(template="none", title=dict(text=title, font=dict(size=15), x=0, xref="paper", xanchor="left", y=0.96, yanchor="top"),
                         font=dict(family="Inter, Helvetica Neue, Arial, sans-serif", color=INK, size=12),
                         paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)",
                         margin=dict(l=58, r=22, t=66, b=52), height=340,
                         legend=dict(orientation="h", x=0, xanchor="left", y=1.01, yanchor="bottom", traceorder="normal"),
                         modebar=dict(bgcolor="rgba(0,0,0,0)", color=INK, activecolor=BLUE, remove=BUTTONS),
                         **layout_)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(gridcolor=GRID, zerolinecolor=GRID, linecolor=GRID, title_standoff=6, title_font_size=12)
    return figure


def _plain(text: str) -> str:
    """Text that plotly shows as it is: it reads a few tags and entities, and mathematics between dollar signs."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


def _label(trace, token: int, most: int = LONG) -> str:
    text = show(trace.token(token)) if trace is not None else f"#{token}"
    return _plain(text if len(text) <= most else text[:most - 1] + "…")


def _frame(r, wanted: int | str):
    """A frame of the round by its number, or the first of a kind. Raises ValueError, one sentence."""
    there = frames(r)
    kinds = [frame.kind for frame in there]
    if wanted in kinds:
        return there[kinds.index(wanted)]
    if isinstance(wanted, int) and -len(there) <= wanted < len(there):
        return there[wanted]
    raise ValueError(f"There is no frame {wanted!r} in this round; give a number from 0 to {len(there) - 1}, "
                     f"or one of {', '.join(dict.fromkeys(kinds))}.")


def tree_figure(r, trace=None, frame: int | str = "accept", language: str = ENGLISH) -> go.Figure:
    """The tree of round `r` at a frame, as the page draws it: every box with its token and its number (the score while
    the tree is drafted and cut, the row in `flatten` and `commit`, then the target's probability), every edge in the
    state of its child, and a fan for the candidates without a box. Pass the trace for the tokens' texts. `frame` is a
    frame's number or its kind; of `expand` and `select` it is the first.
    """
    place, parent = layout(r), boxes(r)
    now = _frame(r, frame)
    tokens = [r.root, *r.candidates.token, r.accept.bonus]
    figure = _figure(phrase("figure.tree", language, round=r.index + 1), showlegend=True)
    there = [node for node in place if now.states[node] != ABSENT]
    figure.add_scatter(**_fans(r, now, place), mode="lines", line=dict(color=GRID, width=0.8), hoverinfo="skip", showlegend=False)
    for letter, look in EDGE.items():
        x, y = _lines([node for node in there if (now.states[node] if now.states[node] in EDGE else "k") == letter], place, parent)
        if x:
            figure.add_scatter(x=x, y=y, mode="lines", line=look, hoverinfo="skip", showlegend=False)
    for letter, (symbol, fill, outline) in MARKERS.items():
        nodes = [node for node in there if now.states[node] == letter]
        if not nodes:
            continue
        name = phrase(f"state.{letter}", language)
        scores = [r.candidates.score[n - 1] if 0 < n <= len(r.candidates.token) else 0.0 for n in nodes]
        figure.add_scatter(
            x=[place[n][0] for n in nodes], y=[place[n][1] for n in nodes], mode="markers+text", name=name,
            marker=dict(symbol=symbol, size=9, color=fill, line=dict(color=outline, width=1.2)), customdata=nodes,
            text=[_label(trace, tokens[n], SHORT) for n in nodes], textposition="top right", textfont=dict(size=10),
            hovertext=[f"{_label(trace, tokens[n])}<br>{name}, {phrase('figure.score', language)} {number(s)}"
                       for n, s in zip(nodes, scores)],
            hoverinfo="text")
    numbers = _numbers(r, FRAMES[now.code].number, there)
    figure.add_scatter(x=[place[n][0] + LABEL for n in numbers], y=[place[n][1] for n in numbers], mode="text", text=list(numbers.values()),
                       textposition="top left", textfont=dict(size=9, color=INK), hoverinfo="skip", showlegend=False)
    deepest = max(depth for depth, _ in place.values())
    figure.update_xaxes(visible=False, range=[-0.1, deepest + 0.9])
    figure.update_yaxes(visible=False, autorange="reversed")
    height = max(360, int(21 * (max(y for _, y in place.values()) + 4)))
    figure.update_layout(height=height, margin=dict(l=12, r=12), title_y=1 - 14 / height)
    return figure


def _lines(nodes, place, parent) -> tuple[list, list]:
    """Under the label of each node a line, and to it one from the end of its parent's."""
    x, y = [], []
    for node in nodes:
        x2, y2 = place[node]
        x1, y1 = place.get(parent[node], (None, None))
        x += [*([x1 + LABEL] if x1 is not None else []), x2, x2 + LABEL, None]
        y += [*([y1] if x1 is not None else []), y2, y2, None]
    return x, y


def _numbers(r, which: str, nodes) -> dict[int, str]:
    """What stands at a box: its "score", its "row", or the "target"'s probability."""
    row_of = {candidate: row for row, candidate in enumerate(r.tree.candidate)}
    drafted = [n for n in nodes if 0 < n <= len(r.candidates.token)]
    if which == "row":
        return {n: str(row_of[n]) for n in nodes if n in row_of}
    if which == "target":
        return {n: number(r.target.token_prob[row_of[n]]) for n in drafted if n in row_of}
    return {n: number(r.candidates.score[n - 1]) for n in drafted}


def _fans(r, now, place) -> dict:
    """A hair for every candidate without a box, at its parent's label; the likelier, the longer."""
    thin: dict[int, list[int]] = {}
    for node, above in enumerate(r.candidates.parent, start=1):
        if node not in place and above in place and now.states[node] != ABSENT:
            thin.setdefault(above, []).append(node)
    x, y = [], []
    for above, nodes in thin.items():
        for i, node in enumerate(nodes):
            turn = 0.45 * (2 * i / max(1, len(nodes) - 1) - 1)
            length = 0.05 + 0.2 * exp(r.candidates.log_prob[node - 1] / 2)
            depth, row = place[above]
            x += [depth + LABEL, depth + LABEL + length, None]
            y += [row, row + turn * length / 0.25, None]
    return dict(x=x, y=y)


def mask_figure(r, trace=None, language: str = ENGLISH) -> go.Figure:
    """The tree mask of round `r`: 1 where a row may look at a column, 2 on the accepted path."""
    rows, accepted = range(len(r.tree.mask)), set(r.accept.path)
    values = [[(2 if i in accepted else 1) if on else 0 for on in r.mask_row(i)] for i in rows]
    names = [f"{i} {_label(trace, token)}" for i, token in enumerate(r.tokens)]
    row, column, sees, blind = (phrase(f"figure.{key}", language) for key in ("row", "column", "sees", "blind"))
    figure = _figure(phrase("figure.mask", language, round=r.index + 1))
    figure.add_heatmap(z=values, zmin=0, zmax=2, xgap=1, ygap=1, showscale=False,
                       colorscale=[[0, "rgba(125,133,144,.10)"], [0.49, "rgba(125,133,144,.10)"], [0.5, BLUE], [0.99, BLUE],
                                   [1, GREEN]],
                       hovertext=[[f"{row} {names[i]}<br>{column} {names[j]}<br>{sees if values[i][j] else blind}"
                                   for j in rows] for i in rows], hoverinfo="text")
    figure.update_yaxes(autorange="reversed", scaleanchor="x", constrain="domain", showgrid=False, title_text=row)
    figure.update_xaxes(constrain="domain", showgrid=False, title_text=column)
    figure.update_layout(height=480)
    return figure


# -- the run ---------------------------------------------------------------------------------------------------------

def _without(reason: str) -> go.Figure:
    """In place of a chart: why there is none."""
    figure = _figure("")
    figure.update_xaxes(visible=False).update_yaxes(visible=False)
    return figure.add_annotation(text=_plain(reason), showarrow=False, x=0.5, y=0.5, xref="paper", yref="paper")


def _of_rounds(draw):
    """A chart of the rounds; where there are none, it says why."""
    @wraps(draw)
    def drawn(trace, language: str = ENGLISH) -> go.Figure:
        return draw(trace, language) if trace.rounds else _without(undrafted(trace, language))
    return drawn


@_of_rounds
def accepted_figure(trace, language: str = ENGLISH) -> go.Figure:
    """Accepted length per round, the bonus on top of it."""
    figure = _figure(phrase("chart.rounds", language), barmode="stack", showlegend=True)
    x = [r.index + 1 for r in trace.rounds]
    texts = [_plain("".join(show(trace.token(t)) for t in r.committed[1:])) for r in trace.rounds]
    figure.add_bar(x=x, y=[r.accept.length for r in trace.rounds], name=phrase("chart.accepted", language),
                   marker_color=BLUE, hovertext=texts)
    figure.add_bar(x=x, y=[1] * len(x), name=phrase("chart.bonus", language), marker_color=ORANGE,
                   marker_pattern_shape="/", hovertext=[_label(trace, r.accept.bonus) for r in trace.rounds])
    tau = trace.summary.tau
    mean = phrase("chart.mean", language, tau=f"{tau:.2f}")
    figure.add_scatter(x=[0.5, len(x) + 0.5], y=[tau, tau], mode="lines", name=mean, hoverinfo="skip",
                       line=dict(color=GREEN, dash="dash", width=2.5))
    figure.update_xaxes(title_text=phrase("chart.round", language), range=[0.5, len(x) + 0.5])
    figure.update_yaxes(title_text=phrase("chart.tokens", language),
                        dtick=1 if max(r.accept.length for r in trace.rounds) < 8 else None)
    return figure


@_of_rounds
def depth_figure(trace, language: str = ENGLISH) -> go.Figure:
    """The share of rounds that accepted at least that many drafted tokens."""
    counts, rounds = trace.summary.accepted_by_depth, trace.summary.rounds
    if not counts:
        return _without(phrase("chart.undrafted", language))
    figure = _figure(phrase("chart.depth", language))
    figure.add_bar(x=list(range(1, len(counts) + 1)), y=trace.summary.acceptance_rate_per_pos, marker_color=GREEN,
                   hovertext=[phrase("chart.of", language, hits=n, rounds=rounds) for n in counts])
    figure.update_xaxes(title_text=phrase("chart.least", language), dtick=1)
    figure.update_yaxes(title_text=phrase("chart.share", language), tickformat=".0%", range=[0, 1])
    return figure


@_of_rounds
def time_figure(trace, language: str = ENGLISH) -> go.Figure:
    """Where the time of the rounds went."""
    seconds = trace.summary.seconds
    parts = [("draft", PURPLE, ""), ("verify", BLUE, ""), ("tree", INK, "/"), ("accept", GREEN, "x"), ("commit", ORANGE, ".")]
    total = sum(seconds.get(key, 0) for key, *_ in parts) or 1.0
    title = phrase("chart.time", language, seconds=f"{total:.1f}", device=_plain(visible(trace.pair.device, " ")))
    figure = _figure(title, barmode="stack", showlegend=True)
    for key, colour, pattern in parts:
        share = seconds.get(key, 0) / total
        figure.add_bar(x=[share], y=[""], orientation="h", marker_color=colour, marker_pattern_shape=pattern,
                       name=f"{phrase(f'chart.{key}', language)} {share:.1%}",
                       hovertext=phrase("chart.seconds", language, seconds=f"{seconds.get(key, 0):.3f}"))
    figure.update_xaxes(tickformat=".0%", range=[0, 1])
    figure.update_layout(legend=dict(y=-0.14, yanchor="top"), margin=dict(b=84))
    return figure


@_of_rounds
def pace_figure(trace, language: str = ENGLISH) -> go.Figure:
    """Tokens written against passes of the target, beside plain decoding's one token a pass."""
    figure = _figure(phrase("chart.pace", language), showlegend=True)
    total, y = 1, [1]
    for r in trace.rounds:
        total += r.accept.length + 1
        y.append(total)
    x = list(range(1, len(y) + 1))
    figure.add_scatter(x=x, y=y, mode="lines+markers", name=_plain(visible(trace.config["policy"], " ")), line=dict(color=BLUE, width=2.5), marker=dict(size=5))
    figure.add_scatter(x=x, y=x, mode="lines", name=phrase("chart.plain", language), line=dict(color=INK, dash="dot"))
    figure.update_xaxes(title_text=phrase("chart.prefill", language))
    figure.update_yaxes(title_text=phrase("chart.tokens", language))
    return figure


CHARTS = (accepted_figure, depth_figure, time_figure, pace_figure)  # of a run, as the page has them, two a row
