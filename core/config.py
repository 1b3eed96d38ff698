"""Every knob of a decoding run, validated when it is set.

Knows numbers and policies' declarations only: no torch, no model. What depends on a particular pair (does the prompt fit
its context, is a layer's width within its vocabulary) is checked where the pair is known, in `limits.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real

from .errors import UserError
from .policies import SHIPPED, find, recorded
from .policies.policy import MOST, Bounds, Knob, Policy, brief

COMMON = {  # what every policy's runs have; the policy's own knobs stand beside them
    "max_new_tokens": Knob(128, least=1, says="exact upper bound of emitted tokens"),
    "sample_top_k": Knob(0, says="keep only the target's k likeliest tokens before sampling, 0 keeps all"),
    "seed": Knob(0, says="of every random draw of the run"),
    "draft_vocab": Knob(0, says="score only the target's so many most frequent tokens while drafting, 0: all"),
}


class DecodeConfig:
    """The settings of one run. Equal where their values are; none can be changed, `but` makes another.

    policy        the way to draft: a name (`core.policies.SHIPPED`), `module:object` of your own file, or the object
    **knobs       the policy's own: top_k, depth and total_tokens of eagle2; length of chain; lists are
                  plain ones, [[0], [1], [0, 0]]. `config.knobs` has them all
    max_new_tokens  exact upper bound of emitted tokens
    temperature   0 decodes greedily; above 0 samples the target's softmax(logits / temperature)
    top_p         nucleus of the target's distribution, 1 keeps all of it
    sample_top_k  keep only the target's k likeliest tokens before sampling, 0 keeps all
    seed          seeds every random draw of the run
    draft_vocab   while drafting, score only the target's draft_vocab most frequent tokens, as the head ranks
                  them (0: all); the output stays what it is, the head becomes cheaper and guesses a little less
    stop_ids      token ids that end the output besides the model's own end-of-sequence ids

    Temperature, top_p and sample_top_k shape the target's distribution only; draft scores never
    see them. Raises UserError with one sentence that names the value and the remedy.
    """

    __slots__ = ("bounds", "draft_vocab", "drafting", "knobs", "max_new_tokens", "policy", "sample_top_k", "seed",
                 "stop_ids", "temperature", "top_p")

    drafting: Policy  # the policy itself; `policy` is its name
    bounds: Bounds    # what a round may take

    def __init__(self, policy: str | Policy = "eagle2", *, max_new_tokens: int = 128, temperature: float = 0.0,
                 top_p: float = 1.0, sample_top_k: int = 0, seed: int = 0, draft_vocab: int = 0,
                 stop_ids: tuple[int, ...] = (), **knobs: int | list):
        given = {"max_new_tokens": max_new_tokens, "sample_top_k": sample_top_k, "seed": seed, "draft_vocab": draft_vocab}
        drafting = find(policy)
        self._set(drafting=drafting, policy=drafting.called, knobs=drafting.settings(knobs),
                  **{name: knob.read(name, given[name]) for name, knob in COMMON.items()},
                  temperature=_finite("temperature", temperature), top_p=_finite("top_p", top_p), stop_ids=_ids(stop_ids))
        if self.temperature < 0:
            raise UserError(f"temperature is {self.temperature}; give 0 (greedy) or a positive number.")
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p is {self.top_p}; give a number above 0 and at most 1 (1 keeps every token).")
        self._set(bounds=drafting.bounds(self.knobs))
        if 0 < self.draft_vocab < self.bounds.children:
            raise UserError(f"draft_vocab is {self.draft_vocab}, fewer tokens than the {self.bounds.children} children of a "
                            f"node; give 0 (all tokens), or {self.bounds.children} or more.")

    def _set(self, **values) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object):
        raise AttributeError(f"settings cannot be changed; make others with config.but({name}=...)")

    def __getattr__(self, name: str) -> int | list:
        """A knob of the policy."""
        if not name.startswith("_") and name in (knobs := object.__getattribute__(self, "knobs")):
            return knobs[name]
        raise AttributeError(f"{type(self).__name__} has no setting {name}; the policy {self.policy} has "
                             f"{', '.join(self.knobs) or 'none of its own'}")

    def __reduce__(self):
        return _again, (self.drafting, self.to_dict())

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, DecodeConfig) else NotImplemented

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"DecodeConfig({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"

    @property
    def greedy(self) -> bool:
        """Below this temperature the softmax is one-hot in float32 anyway (the reference's own threshold)."""
        return self.temperature <= 1e-5

    @property
    def positions(self) -> int:
        """What a round may take of the context: the root, and a node at each depth."""
        return self.bounds.depth + 1

    def but(self, **changes) -> DecodeConfig:
        """These settings with some of them changed."""
        values = self.to_dict() | changes
        return DecodeConfig(**values) if "policy" in changes else _again(self.drafting, values)

    def plainly(self) -> DecodeConfig:
        """The same run without a draft."""
        return DecodeConfig("plain", **{name: value for name, value in self.to_dict().items()
                                        if name not in self.knobs and name not in ("policy", "draft_vocab")})

    def told(self) -> str:
        """The policy and its knobs, in words: eagle2 (top_k 10, depth 5, total_tokens 59)."""
        knobs = ", ".join(f"{name} {brief(value) if isinstance(value, list) else value}" for name, value in self.knobs.items())
        return self.policy + f" ({knobs})" * bool(knobs)

    def to_dict(self) -> dict:
        return {"policy": self.policy, **self.knobs, "max_new_tokens": self.max_new_tokens, "temperature": self.temperature,
                "top_p": self.top_p, "sample_top_k": self.sample_top_k, "seed": self.seed, "draft_vocab": self.draft_vocab,
                "stop_ids": list(self.stop_ids)}

    @classmethod
    def from_dict(cls, values: Mapping) -> DecodeConfig:
        """The inverse of `to_dict`: every field, and no other. Nothing is imported for it: a policy that is not one of ours
        keeps its name and its knobs, and cannot decode. Raises UserError."""
        policy = recorded(values.get("policy", "eagle2"))
        theirs = set() if policy.name in SHIPPED else {name for name in values if name not in COMMON}
        expected = {*theirs, *_again(policy, {}).to_dict()}
        for name in sorted(expected ^ set(values), key=str):
            raise UserError(f"the field {brief(name)} is {'missing' if name in expected else 'unknown'} in config.")
        return _again(policy, dict(values))


def _again(drafting: Policy, values: dict) -> DecodeConfig:
    return DecodeConfig(**values | {"policy": drafting})


def _finite(name: str, value: object) -> float:
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:  # a whole number of hundreds of digits
        number = math.inf
    if not math.isfinite(number):
        raise UserError(f"{name} is {brief(value)}; give a finite number.")
    return number


def _ids(stops: object) -> tuple[int, ...]:
    if not isinstance(stops, list | tuple) or any(
            isinstance(i, bool) or not isinstance(i, Integral) or not 0 <= i <= MOST for i in stops):
        raise UserError(f"stop_ids is {brief(stops)}; give a list of token ids, whole numbers of 0 or more.")
    return tuple(map(int, stops))
