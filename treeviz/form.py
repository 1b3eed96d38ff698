"""The form in the sidebar: which pair, which prompt, which tree. Its parts keep each other possible: the pair decides
what it costs, whether it chats and what its head ranks; top_k and depth decide how large a tree can be."""

from __future__ import annotations

import gradio as gr

from core.config import candidate_count

from .choices import (
    BOUNDS,
    PAPER,
    SHAPE,
    Source,
    chats,
    cost,
    examples,
    pairs_on_offer,
    preset_of,
    request_of,
    tree,
    vocabularies,
)
from .live import Engine
from .view import message_view

QUIET = dict(queue=False, show_progress="hidden", api_visibility="private")
# The slider ends at the number of candidates. Told to the browser only: what gradio knows the end of, it guards by itself.
# A number that is being typed ("1" on the way to "12") takes nothing away: the total that was chosen comes back.
LIMIT = f"""(k, d, n) => {{
  const bounds = [{list(BOUNDS["top_k"])}, {list(BOUNDS["depth"])}];""" """
  const whole = (x, low, high) => Number.isInteger(x) && x >= low && x <= high;
  if (!whole(k, ...bounds[0]) || !whole(d, ...bounds[1])) return {__type__: 'update'};
  const maximum = k + d * k * k, chosen = globalThis.treevizTotal ??= {};
  if (!whole(n, 1, Infinity)) return {__type__: 'update', maximum};
  if (n !== chosen.shown) chosen.wanted = n;
  chosen.shown = Math.min(chosen.wanted, maximum);
  return {__type__: 'update', maximum, value: chosen.shown};
}"""
PRESETS = [("the paper’s", "paper"), ("for a CPU", "cpu")]


class Form:
    """Builds its components where it is made; `request` reads them again."""

    def __init__(self, source: Source, engine: Engine):
        self.source, self.engine = source, engine
        with gr.Column(elem_classes="tv-form"):
            self._prompt()
            self.message = message_view(elem_id="tv-message")
            self._tree()
            self._sampling()
        self.pair.input(self._choose_pair, [self.pair, self.preset],
                        [self.pair, self.chat, self.prompt, self.ideas, self.preset, *self.shape], **QUIET)
        self.preset.input(self._choose_tree, [self.pair, self.preset], self.shape, **QUIET)
        # always_last: a change that comes while the one before is answered counts too
        gr.on([self.top_k.change, self.depth.change], None, [self.top_k, self.depth, self.total], self.total, js=LIMIT,
              trigger_mode="always_last", **QUIET)
        gr.on([part.change for part in self.shape], self._name_tree, [self.pair, *self.shape], self.preset,
              trigger_mode="always_last", **QUIET)

    @property
    def inputs(self) -> list:
        return [self.pair, self.prompt, self.chat, *self.shape, self.temperature, self.top_p, self.most, self.seed]

    @staticmethod
    def request(pair, prompt, chat, *numbers) -> dict:
        """The run that `inputs` ask for. Raises UserError, one sentence."""
        names = (*SHAPE, "temperature", "top_p", "max_new_tokens", "seed")
        return request_of(pair, prompt or "", chat, dict(zip(names, numbers)))

    def refresh(self, pair):
        """What the pair costs by now: shown when the form is opened, and after a run."""
        return gr.update(info=cost(pair, self.engine.loaded(pair)))

    # -- its parts ---------------------------------------------------------------------------------------------------

    def _prompt(self) -> None:
        name = self.source.name
        gr.HTML("<h3>Decode a prompt</h3>", padding=False)
        self.prompt = gr.Textbox(label="Prompt", lines=3, max_lines=8, value=examples(name)[0], elem_id="tv-prompt",
                                 placeholder="What should the model go on from?")
        self.ideas = gr.Dataset(components=["textbox"], samples=[[text] for text in examples(name)], label="Examples",
                                elem_classes="tv-ideas")
        self.ideas.click(lambda row: row[0], self.ideas, self.prompt, **QUIET)
        self.pair = gr.Dropdown(pairs_on_offer(self.source), value=name, label="Pair", info=cost(name), filterable=False)
        self.chat = gr.Checkbox(label="As a chat message", **_chat(name))
        with gr.Row():
            self.decode = gr.Button("Decode", variant="primary", min_width=100)
            self.stop = gr.Button("Stop", min_width=80)

    def _tree(self) -> None:
        with gr.Accordion("The tree", open=False, elem_classes="tv-knobs"):
            self.preset = gr.Radio(_presets(self.source.name), value="paper", label="Ready-made",
                                   info="On a CPU every row costs: there a small tree wins.")
            self.top_k = _slider("top_k", 10, "Children per token, and tokens expanded per layer.")
            self.depth = _slider("depth", 5, "Layers after the first.")
            self.total = _slider("total_tokens", 59, "Drafted tokens that are kept and verified; at most as many as there "
                                 "are candidates.")
            self.total.maximum = candidate_count(10, 5)
            self.vocabulary = gr.Dropdown(self._vocabularies(self.source.name), value=0, label="draft_vocab", filterable=False,
                                          info="The head guesses among these only; what comes out is the same.")
        self.shape = [self.top_k, self.depth, self.total, self.vocabulary]

    def _sampling(self) -> None:
        with gr.Accordion("Sampling and length", open=False, elem_classes="tv-knobs"):
            self.temperature = _slider("temperature", 0, "0 is greedy: always the likeliest token.", step=0.05)
            self.top_p = _slider("top_p", 1, "Sample from this much of the probability only.", step=0.05, label="top-p")
            self.most = _slider("max_new_tokens", 64, "The run ends after this many tokens.")
            self.seed = _lenient(gr.Number(0, precision=0, label="seed", info="The same seed draws the same tokens."))

    def _vocabularies(self, pair: str) -> list[tuple[str, int]]:
        sizes = vocabularies(pair, self.source.draft if pair == self.source.name else None)
        return [(f"the {size:,} most frequent tokens" if size else "all tokens", size) for size in sizes]

    # -- what follows from what ----------------------------------------------------------------------------------------

    def _choose_pair(self, pair, preset):
        shape = tree(pair, preset or "")
        if preset == "cpu" and shape is None:  # this pair recommends none
            preset, shape = "paper", PAPER
        ideas = examples(pair)
        values = _shape(shape) if shape else [gr.skip(), gr.skip(), gr.skip(), 0]
        values[3] = gr.Dropdown(self._vocabularies(pair), value=shape["draft_vocab"] if shape else 0)
        return (self.refresh(pair), gr.Checkbox(**_chat(pair)), ideas[0],
                gr.Dataset(samples=[[text] for text in ideas]), gr.Radio(_presets(pair), value=preset), *values)

    @staticmethod
    def _choose_tree(pair, preset):
        return _shape(tree(pair, preset))

    @staticmethod
    def _name_tree(pair, *numbers):
        return preset_of(pair, dict(zip(SHAPE, numbers)))


def _presets(pair: str) -> list[tuple[str, str]]:
    return [preset for preset in PRESETS if tree(pair, preset[1])]


def _chat(pair: str) -> dict:
    can = chats(pair)
    return {"value": can, "interactive": can, "info": "Wraps the prompt in the model’s chat template." if can else
            "This pair goes on with the text as it stands."}


def _shape(values: dict[str, int]) -> list:
    """A ready-made tree for its four inputs."""
    return [values[name] for name in SHAPE]


def _slider(name: str, value: float, info: str, step: float = 1, label: str = "") -> gr.Slider:
    low, high = BOUNDS[name]
    return _lenient(gr.Slider(low, high, value, step=step, label=label or name, info=info))


def _lenient(component):
    """A number out of bounds comes through, to be answered with our own sentence (`config_of`) instead of gradio's."""
    component.preprocess = lambda value: value
    return component
