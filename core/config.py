"""Every knob of a decoding run, validated when it is set.

Knows numbers only: no torch, no model. What depends on a particular pair (does the prompt fit its
context, is `top_k` within its vocabulary) is checked where the pair is known, in `decoder.py`.
"""

from __future__ import annotations

import math
import reprlib
from dataclasses import asdict, dataclass, fields
from numbers import Integral, Real

from .errors import UserError

MOST = 2**64 - 1  # of any whole number here: a seed may be that large
MOST_CANDIDATES = 250_000  # of a round: some 10 MB of trace
MOST_ROWS = 10_000         # of a tree: its mask is the square


def brief(value: object) -> str:
    """A value as it stands in a sentence: however long, a few dozen characters of it."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python writes no number of thousands of digits
        return "a number of thousands of digits"


@dataclass(frozen=True, slots=True)
class DecodeConfig:
    """The settings of one run.

    top_k         children scored per expanded node, and nodes expanded per layer
    depth         beam passes after the head's first: a round has depth + 1 layers of candidates
    total_tokens  drafted nodes kept by the re-rank, the root not counted
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

    top_k: int = 10
    depth: int = 5
    total_tokens: int = 59
    max_new_tokens: int = 128
    temperature: float = 0.0
    top_p: float = 1.0
    sample_top_k: int = 0
    seed: int = 0
    draft_vocab: int = 0
    stop_ids: tuple[int, ...] = ()

    def __post_init__(self):
        for name in ("top_k", "depth", "total_tokens", "max_new_tokens", "sample_top_k", "seed", "draft_vocab"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral):  # numpy's are, in whatever width
                raise UserError(f"{name} is {brief(value)}; give a whole number.")
            object.__setattr__(self, name, value := int(value))
            if value > MOST:
                raise UserError(f"{name} is {brief(value)}; give {MOST} or less.")
        for name, least in (("top_k", 1), ("depth", 0), ("total_tokens", 1), ("max_new_tokens", 1),
                            ("sample_top_k", 0), ("seed", 0), ("draft_vocab", 0)):
            value = getattr(self, name)
            if value < least:
                raise UserError(f"{name} is {brief(value)}; give {least} or more.")
        if self.candidates > MOST_CANDIDATES:
            raise UserError(f"top_k is {self.top_k} and depth is {self.depth}: a round would score {round_cost(self.candidates)}; "
                            f"{MOST_CANDIDATES:,} candidates are the most, so lower top_k or depth.")
        if self.total_tokens > self.candidates:
            raise UserError(
                f"total_tokens is {self.total_tokens}, but top_k {self.top_k} and depth {self.depth} give only "
                f"{self.candidates} candidates (top_k + depth * top_k^2); lower total_tokens to {self.candidates} "
                "or raise top_k or depth."
            )
        if self.total_tokens > MOST_ROWS:
            raise UserError(f"total_tokens is {self.total_tokens}; the target reads a tree in one pass, {MOST_ROWS:,} are the most.")
        if 0 < self.draft_vocab < self.top_k:
            raise UserError(f"draft_vocab is {self.draft_vocab}, fewer tokens than top_k {self.top_k} children; give 0 "
                            "(all tokens) or more.")
        for name in ("temperature", "top_p"):
            value = getattr(self, name)
            try:
                number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
            except OverflowError:  # a whole number of hundreds of digits
                number = math.inf
            if not math.isfinite(number):
                raise UserError(f"{name} is {brief(value)}; give a finite number.")
            object.__setattr__(self, name, number)
        if self.temperature < 0:
            raise UserError(f"temperature is {self.temperature}; give 0 (greedy) or a positive number.")
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p is {self.top_p}; give a number above 0 and at most 1 (1 keeps every token).")
        stops = self.stop_ids
        if not isinstance(stops, (list, tuple)) or any(
                isinstance(i, bool) or not isinstance(i, Integral) or not 0 <= i <= MOST for i in stops):
            raise UserError(f"stop_ids is {brief(stops)}; give a list of token ids, whole numbers of 0 or more.")
        object.__setattr__(self, "stop_ids", tuple(map(int, stops)))

    @property
    def candidates(self) -> int:
        """Candidates the head scores in a round: top_k from its first pass, top_k^2 from each later one."""
        return candidate_count(self.top_k, self.depth)

    @property
    def positions(self) -> int:
        """What a round may take of the context: the root, and a node in each of depth + 1 layers."""
        return self.depth + 2

    @property
    def greedy(self) -> bool:
        """Below this temperature the softmax is one-hot in float32 anyway (the reference's own threshold)."""
        return self.temperature <= 1e-5

    def to_dict(self) -> dict:
        return asdict(self) | {"stop_ids": list(self.stop_ids)}

    @classmethod
    def from_dict(cls, values: dict) -> DecodeConfig:
        """The inverse of `to_dict`: every field, and no other. Raises UserError."""
        names = {f.name for f in fields(cls)}
        for name in sorted(names ^ set(values), key=str):
            raise UserError(f"the field {brief(name)} is {'missing' if name in names else 'unknown'} in config.")
        return cls(**values)


def candidate_count(top_k: int, depth: int) -> int:
    """top_k + depth * top_k^2 (EAGLE-2, section 4.1): the most nodes a re-rank can keep."""
    return top_k + depth * top_k**2


def round_cost(candidates: int) -> str:
    """What a round of so many candidates takes, roughly, where it is recorded."""
    return f"{candidates:,} candidates, some {candidates * 4e-5:,.1f} MB of trace and {candidates * 2e-4:,.0f} MB of memory"
