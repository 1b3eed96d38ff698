"""The form in the sidebar: which pair, which prompt, which tree. Its parts keep each other possible: the pair decides
what it costs, whether it chats and what its head ranks; top_k and depth decide how large a tree can be."""

from __future__ import annotations

import gradio as gr

from core.policies import SHIPPED
from core.policies.eagle2 import candidate_count

from ..story.phrases import phrase, refusal, say
from ..view import message_view, script
from .choices import (
    BOUNDS,
    PAPER,
    SHAPE,
    Source,
    chats,
    compares,
    cost,
    examples,
    pairs_on_offer,
    preset_of,
    request_of,
    tree,
    vocabularies,
)
from .live import Engine
from .spoken import Spoken, Words

PRESETS = ("paper", "cpu")
QUIET = dict(queue=False, show_progress="hidden", api_visibility="private")
AS_TYPED = dict(preprocess=False)  # a number out of bounds comes through, to be answered with our own sentence
LIMIT = script("total", BOUNDS={name: BOUNDS[name] for name in ("top_k", "depth")})


class Form:
    """Builds its components where it is made, `put` keeping their words; `request` reads them again."""

    def __init__(self, source: Source, engine: Engine, put: Spoken, language):
        self.source, self.engine, self.put = source, engine, put
        with gr.Column(elem_classes="tv-form"):
            self._prompt()
            self.message = message_view(elem_id="tv-message")
            self._tree()
            self._sampling()
        self.pair.input(self._choose_pair, [self.pair, self.preset, language],
                        [self.pair, self.chat, self.compare, self.prompt, self.ideas, self.preset, *self.shape], **QUIET)
        self.preset.input(self._choose_tree, [self.pair, self.preset], self.shape, **QUIET)
        # always_last: a change that comes while the one before is answered counts too
        gr.on([self.top_k.change, self.depth.change], None, [self.top_k, self.depth, self.total], self.total, js=LIMIT,
              trigger_mode="always_last", **QUIET)
        gr.on([part.change for part in self.shape], self._name_tree, [self.pair, *self.shape], self.preset,
              trigger_mode="always_last", **AS_TYPED, **QUIET)

    @property
    def inputs(self) -> list:
        return [self.pair, self.prompt, self.chat, self.compare, self.policy, *self.shape, self.length, self.temperature, self.top_p, self.most,
                self.seed]

    def request(self, pair, prompt, chat, compare, policy, *numbers) -> dict:
        """The run that `inputs` ask for. Raises UserError, one sentence."""
        names = (*SHAPE, "length", "temperature", "top_p", "max_new_tokens", "seed")
        if prompt is None or prompt == "":  # said before a pair is loaded for nothing
            raise refusal(say("error.empty"))
        return request_of(self.engine.offered(pair), prompt, chat, dict(zip(names, numbers)), self.source, policy, compare)

    def refresh(self, pair, language):
        """What the pair costs by now: shown when the form is opened, and after a run."""
        return gr.update(info=self._cost(language, pair))

    # -- its parts ---------------------------------------------------------------------------------------------------

    def _prompt(self) -> None:
        put, name = self.put, self.source.name
        put(gr.HTML, says=heading("form"), padding=False)
        self.prompt = put(gr.Textbox, says={"label": "prompt", "placeholder": "prompt.hint"}, lines=3, max_lines=8,
                          value=examples(name)[0], elem_id="tv-prompt")
        self.ideas = put(gr.Dataset, says={"label": "examples"}, components=["textbox"],
                         samples=[[text] for text in examples(name)], elem_classes="tv-ideas")
        self.ideas.click(lambda row: row[0] if row else gr.skip(), self.ideas, self.prompt, **QUIET)
        self.pair = put(gr.Dropdown, pairs_on_offer(self.source), value=name, filterable=False,
                        says=lambda language, pair: {"label": phrase("pair", language), "info": self._cost(language, pair)})
        self.chat = put(gr.Checkbox, says=_chat_words, **_chat(name))
        self.compare = put(gr.Checkbox, compares(name), says={"label": "compare", "info": "compare.info"})
        with gr.Row():
            self.decode = put(gr.Button, says={"value": "decode"}, variant="primary", min_width=100)
            self.stop = put(gr.Button, says={"value": "stop"}, min_width=80)

    def _tree(self) -> None:
        with self.put(gr.Accordion, says={"label": "tree"}, open=False, elem_classes="tv-knobs"):
            self.policy = self.put(gr.Radio, says=_policy_words, value=SHIPPED[0])
            with gr.Column(elem_classes="tv-knobs") as eagle2:
                self.preset = self.put(gr.Radio, says=_preset_words, value="paper")
                self.top_k = self._slider("top_k", 10)
                self.depth = self._slider("depth", 5)
                self.total = self._slider("total_tokens", 59)
                self.total.maximum = candidate_count(10, 5)
            with gr.Column(elem_classes="tv-knobs", visible=False) as chain:
                self.length = self._slider("length", 5)
            self._knobs = {"eagle2": eagle2, "chain": chain}
            self.policy.change(self._choose_policy, self.policy, list(self._knobs.values()), **AS_TYPED, **QUIET)
            self.vocabulary = self.put(gr.Dropdown, says=self._vocabulary_words, value=0, label="draft_vocab", filterable=False)
        self.shape = [self.top_k, self.depth, self.total, self.vocabulary]

    def _sampling(self) -> None:
        with self.put(gr.Accordion, says={"label": "sampling"}, open=False, elem_classes="tv-knobs"):
            self.temperature = self._slider("temperature", 0, step=0.05)
            self.top_p = self._slider("top_p", 1, step=0.05, label="top-p")
            self.most = self._slider("max_new_tokens", min(64, self.source.longest))
            self.seed = self.put(gr.Number, 0, says={"info": "seed"}, precision=0, label="seed")

    def _slider(self, name: str, value: float, step: float = 1, label: str = "") -> gr.Slider:
        low, high = self.source.bounds(name)
        return self.put(gr.Slider, low, high, value, says={"info": name}, step=step, label=label or name)

    # -- words that depend on the pair ----------------------------------------------------------------------------------

    def _cost(self, language: str, pair: str) -> str:
        return cost(pair, self.engine.loaded(pair), language)

    def _vocabulary_words(self, language: str, pair: str) -> dict:
        sizes = vocabularies(pair, self.source.draft if pair == self.source.name else None)
        names = [phrase("draft_vocab.some" if size else "draft_vocab.all", language, size=size) for size in sizes]
        return {"info": phrase("draft_vocab", language), "choices": list(zip(names, sizes))}

    # -- what follows from what ----------------------------------------------------------------------------------------

    def _choose_pair(self, pair, preset, language):
        shape = tree(pair, preset or "")
        if preset == "cpu" and shape is None:  # this pair recommends none
            preset, shape = "paper", PAPER
        ideas = examples(pair)
        values = _shape(shape) if shape else [gr.skip(), gr.skip(), gr.skip(), 0]
        values[3] = gr.update(value=values[3], **self._vocabulary_words(language, pair))
        return (self.refresh(pair, language), gr.update(**_chat(pair), **_chat_words(language, pair)), compares(pair), ideas[0],
                gr.update(samples=[[text] for text in ideas]), gr.update(value=preset, **_preset_words(language, pair)), *values)

    def _choose_policy(self, policy):
        return [gr.update(visible=name == policy) for name in self._knobs]

    @staticmethod
    def _choose_tree(pair, preset):
        shape = tree(pair, preset)
        return _shape(shape) if shape else [gr.skip()] * len(SHAPE)

    @staticmethod
    def _name_tree(pair, *numbers):
        return preset_of(str(pair), dict(zip(SHAPE, numbers)))  # as it was typed: a stranger may send anything


def heading(key: str) -> Words:
    """A heading's words; as gr.Markdown it would be one more script to load."""
    return lambda language, _: {"value": f"<h3>{phrase(key, language)}</h3>"}


def _policy_words(language: str, pair: str) -> dict:
    return {"label": phrase("policy", language), "info": phrase("policy.info", language),
            "choices": [(phrase(f"policy.{name}", language), name) for name in SHIPPED]}


def _preset_words(language: str, pair: str) -> dict:
    names = [(phrase(f"preset.{preset}", language), preset) for preset in PRESETS if tree(pair, preset)]
    return {"label": phrase("preset", language), "info": phrase("preset.info", language), "choices": names}


def _chat(pair: str) -> dict:
    return {"value": chats(pair), "interactive": chats(pair)}


def _chat_words(language: str, pair: str) -> dict:
    return {"label": phrase("chat", language), "info": phrase("chat.can" if chats(pair) else "chat.not", language)}


def _shape(values: dict[str, int]) -> list:
    """A ready-made tree for its four inputs."""
    return [values[name] for name in SHAPE]
