"""What a person may choose before a run: the pairs and what each costs, two ready-made trees, the bounds of every number.

Words and numbers only: no gradio, no torch, so that the form opens before either pair is looked at.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from core.config import DecodeConfig
from core.pairs.fetch import offline
from core.pairs.named import DEFAULT, PAIRS
from core.policies import SHIPPED, find
from core.policies.eagle2 import candidate_count

from ..story.language import ENGLISH
from ..story.phrases import phrase, refusal, say
from .space import zero

SHAPE = ("top_k", "depth", "total_tokens", "draft_vocab")
PAPER = {name: getattr(DecodeConfig(), name) for name in SHAPE}
QUESTIONS = ["Why is the sky blue?", "Write a Python function that reverses a string.", "List the first ten prime numbers.",
             "Tell a short story about a fox and a crow."]
BEGINNINGS = ["Once upon a time", "One morning a small fox found a golden key", "The old king asked three questions",
              "In the garden stood a tall tree"]

# A page is open to whoever finds it, so one run of it may cost this much and no more; the command line has no such bounds.
BOUNDS = {"top_k": (1, 16), "depth": (0, 10), "total_tokens": (1, candidate_count(16, 10)), "length": (1, 16),
          "draft_vocab": (0, 10**6),
          "temperature": (0, 2), "top_p": (0.05, 1), "max_new_tokens": (1, 2048), "seed": (0, 2**53)}
LONGEST_RUN = {True: BOUNDS["max_new_tokens"][1], False: 512}  # new tokens: on one's own machine, where strangers come too
KNOBS = {name for policy in SHIPPED for name in find(policy).knobs}
FRACTIONS = ("temperature", "top_p", "seconds")  # every other number is whole
LONGEST = 20_000  # characters of a prompt


@dataclass(frozen=True, slots=True)
class Source:
    """Where the pair comes from: a name, or two directories or hub ids."""

    pair: str | None = DEFAULT
    target: str | None = None
    draft: str | None = None
    device: str = "auto"
    target_embedding: bool = False
    chat_template: str | None = None  # of a tokenizer's several, of a family, or a file: what a prompt is wrapped in
    longest: int = LONGEST_RUN[True]  # new tokens of a run, at most

    def bounds(self, name: str) -> tuple[float, float]:
        """The least and the largest value of a number that the page takes."""
        return (1, self.longest) if name == "max_new_tokens" else BOUNDS[name]

    @property
    def name(self) -> str:
        return f"{self.target} + {self.draft}" if self.target else self.pair


USUAL = Source()


def pairs_on_offer(source: Source) -> list[str]:
    """The source's own pair first; then the named ones, those that want a GPU where there is one, or where they are
    on this machine already. On ZeroGPU only what is loaded at the start, and is small."""
    gpu = not zero() and _has_gpu(source.device)
    named = [name for name, entry in PAIRS.items() if (gpu or entry.here() if entry.gpu else not zero() or not entry.fetch)]
    return list(dict.fromkeys([source.name, *named]))


def cost(name: str, loaded: bool = False, language: str = ENGLISH) -> str:
    """What choosing a pair brings with it, in a line: said before it happens."""
    entry = PAIRS.get(name)
    if loaded:
        return phrase("cost.loaded", language)
    if entry is None:
        return phrase("cost.yours", language)
    wants = phrase("cost.gpu", language) if entry.gpu else ""
    if entry.here():
        return phrase("cost.machine" if entry.fetch else "cost.repository", language) + wants
    if offline():
        return phrase("cost.offline", language) + wants
    terms = phrase("cost.licence", language, licence=entry.licence) if entry.gpu else ""
    return phrase("cost.fetch", language, size=entry.fetch.replace(" to ", "–")) + wants + terms


def chats(name: str) -> bool:
    """May prompts to it be wrapped as chat messages? A pair that a person brought may."""
    return name not in PAIRS or PAIRS[name].chat


def examples(name: str) -> list[str]:
    return QUESTIONS if chats(name) else BEGINNINGS


def tree(name: str, preset: str) -> dict[str, int] | None:
    """The shape that a preset stands for: "paper", or "cpu" where the pair recommends one."""
    if preset == "paper":
        return PAPER
    entry = PAIRS.get(name)
    return PAPER | entry.cpu if preset == "cpu" and entry and entry.cpu else None


def preset_of(name: str, shape: dict[str, int]) -> str | None:
    """Which ready-made tree a shape is, or None."""
    return next((preset for preset in ("paper", "cpu") if tree(name, preset) == shape), None)


def vocabularies(name: str, draft: str | None = None) -> list[int]:
    """The sizes of draft vocabulary on offer, 0 (all tokens) first: what the head ranks, a half and a quarter of it."""
    ranked = _ranked(str(draft or (PAIRS[name].head if name in PAIRS else "")))
    return [0] + [ranked // part for part in (1, 2, 4) if ranked // part >= BOUNDS["top_k"][1]]


def config_of(values: dict, source: Source = USUAL, policy: str = SHIPPED[0]) -> DecodeConfig:
    """The settings of a run from the numbers of the form or of the API, which has the knobs of every policy; those of the
    others are left out. Only our own policies: a page imports nothing for strangers. Raises UserError, one sentence."""
    if policy not in SHIPPED:
        raise refusal(say("error.policy", value=shown(policy), policies=", ".join(SHIPPED)))
    values = {name: value for name, value in values.items() if name in find(policy).knobs or name not in KNOBS}
    numbers = {name: number_of(name, value, *source.bounds(name)) for name, value in values.items()}
    return DecodeConfig(policy, **numbers)


def number_of(name: str, value: object, low: float, high: float) -> int | float:
    """What was sent as a number, within its bounds, whole unless it is of FRACTIONS. Raises UserError, one sentence."""
    if value is None or value == "":
        raise refusal(say("error.blank", name=name, low=low, high=high))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refusal(say("error.word", name=name, value=shown(value), low=low, high=high))
    if not low <= value <= high:  # NaN is in no bounds either
        raise refusal(say("error.bounds", name=name, value=shown(value), low=low, high=high))
    if name in FRACTIONS:
        return value
    if value != int(value):
        raise refusal(say("error.whole", name=name, value=value, low=low, high=high))
    return int(value)  # a browser may send 4.0


def compares(name: str) -> bool:
    """Does plain decoding with it take seconds, so that runs are compared unless told otherwise?"""
    return name not in PAIRS or not PAIRS[name].gpu


def request_of(pair: str, prompt: str, chat: bool, values: dict, source: Source = USUAL, policy: str = SHIPPED[0],
               compare: bool = False) -> dict:
    """A run as plain data: it may cross to another process. `compare`: with plain decoding, once it has ended. Raises
    UserError, one sentence."""
    switch("compare", compare)
    return {"pair": pair, **prompt_of(prompt, chat), "compare": compare, "config": config_of(values, source, policy).to_dict()}


def prompt_of(prompt: object, chat: object) -> dict:
    """What is to be decoded, and whether it is wrapped in a chat template. Raises UserError, one sentence."""
    if not isinstance(prompt, str):
        raise refusal(say("error.prompt"))
    if len(prompt) > LONGEST:
        raise refusal(say("error.long", n=len(prompt), most=LONGEST))
    switch("chat", chat)
    return {"prompt": prompt, "chat": chat}


def switch(name: str, value: object) -> None:
    """Raises UserError, one sentence, of what is neither on nor off."""
    if not isinstance(value, bool):
        raise refusal(say("error.switch", name=name, value=shown(value)))


def shown(value) -> str:
    """Whatever a stranger sent in a number's or a name's place, as JSON spells it, on one line and not endless."""
    if isinstance(value, float):
        return f"{value:g}"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # no JSON, or a number of more digits than Python writes
        text = f"<{type(value).__name__}>"
    text = text if len(text) <= 40 else text[:39] + "…"
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _has_gpu(device: str) -> bool:
    """Is there a CUDA device to be used? Asked of the driver: PyTorch takes seconds to answer."""
    if device == "cpu":
        return False
    return device.startswith("cuda") or Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


@cache
def _ranked(head: str) -> int:
    """How many tokens a head ranks by frequency (`draft_vocab.json`); 0 where it ranks none."""
    try:
        return len(json.loads((Path(head) / "draft_vocab.json").read_text(encoding="utf-8"))["token_ids"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0
