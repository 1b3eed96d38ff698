"""What a policy is: a way to draft a tree, with its knobs and what a round of it may take.

Knows numbers only, and no torch: settings are checked and recorded runs are read where nothing is decoded. A policy's own
`grow` and `keep` import what they compute with when they are called.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

    from ..tree import Candidates, Layer

MOST = 2**64 - 1  # of any whole number in the settings: a seed may be that large
MOST_LISTED = 10_000  # entries of a list in the settings
ONE_HOT = "one-hot"  # the rule of drafts that no chance has chosen


def brief(value: object) -> str:
    """A value as it stands in a sentence: however long, a few dozen characters of it."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python writes no number of thousands of digits
        return "a number of thousands of digits"


@dataclass(frozen=True, slots=True)
class Knob:
    """A whole number that a policy leaves to its user. `says` is its help in a line."""

    default: int
    least: int = 0
    most: int = MOST
    says: str = ""

    def read(self, name: str, value: object) -> int:
        """The value as an int. Raises UserError, one sentence."""
        if isinstance(value, bool) or not isinstance(value, Integral):  # numpy's are, in whatever width
            raise UserError(f"{name} is {brief(value)}; give a whole number.")
        if value > self.most:
            raise UserError(f"{name} is {brief(int(value))}; give {self.most} or less.")
        if value < self.least:
            raise UserError(f"{name} is {brief(int(value))}; give {self.least} or more.")
        return int(value)


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of numbers that a policy leaves to its user, or a list of such lists; plain as JSON has it, on the command line
    too. `asks` ends the sentence for whatever is not one."""

    default: tuple
    asks: str
    deep: bool = False   # lists within the list
    whole: bool = True   # whole numbers
    least: float = 0
    most: float = 10_000
    says: str = ""

    def read(self, name: str, value: object) -> list:
        """The value as lists of ints (or floats), a copy. Raises UserError, one sentence."""
        if isinstance(value, list | tuple) and value and len(value) <= MOST_LISTED:
            inner = value if self.deep else [value]
            if all(isinstance(part, list | tuple) and 0 < len(part) <= MOST_LISTED and all(map(self._fits, part))
                   for part in inner):
                plain = [[int(i) if self.whole else float(i) for i in part] for part in inner]
                return plain if self.deep else plain[0]
        raise UserError(f"{name} is {brief(value)}; give {self.asks}.")

    def _fits(self, number: object) -> bool:
        return (isinstance(number, Integral if self.whole else Real) and not isinstance(number, bool)
                and self.least <= number <= self.most)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that a round can take: what caches are sized for and what contexts must leave room for.

    passes      forwards of the head; 0 where nothing is drafted
    candidates  nodes that the head scores
    rows        rows that the target verifies, the root among them
    depth       of the deepest node; the root's is 0
    head_rows   drafted rows that the head's cache holds at once, behind the true ones
    children    nodes scored after one that is fed
    """

    passes: int
    candidates: int
    rows: int
    depth: int
    head_rows: int
    children: int


class Settings(Protocol):
    """What a policy reads of `DecodeConfig`: its own knobs, as attributes."""

    knobs: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any: ...


class Policy:
    """A way to draft. Subclass it, name its knobs, say what a round takes, grow layers and choose what is verified."""

    name: str = ""
    rule: str = ONE_HOT  # by which its drafts are judged where the run samples
    exact: bool | None = False  # does every round take all of its bounds? None: nobody knows
    knobs: Mapping[str, Knob | Listing] = {}

    @property
    def called(self) -> str:
        """Its name in a trace. One that is nobody's by name says whose it is: module:name."""
        ours = type(self).__module__ == f"{__package__}.{self.name}"
        return self.name if ours or ":" in self.name else f"{type(self).__module__}:{self.name}"

    def settings(self, given: Mapping[str, object]) -> dict[str, Any]:
        """All knobs, those that are not given at their defaults. Raises UserError for one that it does not have, or that is
        out of bounds, or that does not go with the others."""
        for name in given:
            if name not in self.knobs:
                has = ", ".join(self.knobs) or "none"
                raise UserError(f"There is no setting {brief(name)} of the policy {self.name}; its own are: {has}.")
        values = {name: knob.read(name, given.get(name, knob.default)) for name, knob in self.knobs.items()}
        self.check(values)
        return values

    def fitting(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What somebody asks for in part, with what goes with it: a default may be too large beside the rest."""
        return dict(given)

    def check(self, knobs: Mapping[str, Any]) -> None:
        """What the knobs must be to each other. Raises UserError."""

    def bounds(self, knobs: Mapping[str, Any]) -> Bounds:
        raise NotImplementedError

    def grow(self, drafter: Any, token_ids: list[int], features: Tensor, config: Settings) -> Iterator[Layer]:
        """Draft one tree, a `Layer` for each time the head has been asked.

        drafter: `core.model.head.Drafter`. token_ids and features [rows, as the head reads them] are what the target has
        made certain since the last round: each feature with the token that follows it, the root last (the whole prompt
        in the first round, the accepted path after). Candidates are numbered from 1 in the order of the layers; a parent
        comes before its children, a child's score is at most its parent's, and children of a node are likeliest first.
        """
        raise NotImplementedError

    def keep(self, candidates: Candidates, config: Settings) -> Tensor:
        """Which candidates are verified -> their places, ascending, each with its parent. All, unless a policy cuts."""
        import torch
        return torch.arange(len(candidates.token))
