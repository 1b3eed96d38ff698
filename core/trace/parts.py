"""The parts of a trace document, one model per object of the format: the fields, their types and their ranges.

Every number of a round stands in a column (a list over candidates, layers or rows), so a file is compact and a
column is one thing to plot. What the columns say about each other is in `rules.py`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from .rules import check_round

MOST = 2**53 - 1  # of whole numbers: so far, a browser counts as we do
Id = Annotated[int, Field(ge=0, le=MOST)]
Seconds = Annotated[float, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1 + 1e-6)]
IdAndLogit = Annotated[tuple[Id, float], Field(strict=False)]
IdAndProbability = Annotated[tuple[Id, Probability], Field(strict=False)]  # JSON has no tuples
Hex = Annotated[str, Field(pattern=r"^([0-9a-f]{2})+$")]


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a surrogate pair, which is no text") from None
    return text


Text = Annotated[str, AfterValidator(_encodable)]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Producer(Part):
    name: Text
    version: Text
    torch: Text
    transformers: Text


class Head(Part):
    """What drafts: `layers` are the boundaries of the target's stack whose hidden states it reads (0 before the first
    layer), `vocab_size` the tokens that it can say."""

    kind: Literal["eagle", "eagle3"]
    layers: Annotated[list[Id], Field(min_length=1)]
    vocab_size: Annotated[int, Field(ge=1, le=MOST)]


class Pair(Part):
    name: Text
    target: Text
    draft: Text
    device: Text
    dtype: Text
    vocab_size: Annotated[int, Field(ge=1, le=MOST)]
    hidden_size: Annotated[int, Field(ge=1, le=MOST)]
    num_hidden_layers: Annotated[int, Field(ge=1, le=MOST)]
    head: Head


class Prompt(Part):
    text: Text
    token_ids: Annotated[list[Id], Field(min_length=1)]


class TokenText(Part):
    """What a token id says. `bytes` (hex) is there only for a token that is not whole characters by itself."""

    text: Text
    special: bool
    bytes: Hex | None = None


class Candidates(Part):
    """Columns over all candidates of a round, in creation order: candidate id = position + 1, parent 0 = root. `layer`
    is the place in `layers` of what made it; how deep it is follows from its parents."""

    token: list[Id]
    parent: list[Id]
    layer: list[Id]
    log_prob: list[Annotated[float, Field(le=0)]]
    score: list[Annotated[float, Field(le=0)]]


class Layer(Part):
    """What the head was asked at once: the candidate ids it was fed (0 = root), the ones that are fed next, and the
    passes that it took."""

    expanded: list[Id]
    selected: list[Id]
    passes: Id


class Tree(Part):
    """Columns over the flattened tree, root first. A mask row holds its bits in column order, packed into bytes.
    `cutoff` is the worst score of a drafted row, null where there is none."""

    candidate: list[Id]
    parent: list[Annotated[int, Field(ge=-1, le=MOST)]]
    depth: list[Id]
    position_ids: list[Id]
    mask: list[Hex]
    retrieve_indices: list[list[Annotated[int, Field(ge=-1, le=MOST)]]]
    cutoff: Annotated[float, Field(le=0)] | None


class TargetView(Part):
    """What the target said at every row; token_prob is its probability of the row's token, seen from the parent."""

    argmax: list[Id]
    token_prob: list[Probability]
    top: list[Annotated[list[IdAndProbability], Field(max_length=5)]]


class Draw(Part):
    """A drafted row that was drawn for: accepted iff r < p, p being what is left after the draws before it."""

    node: Id
    p: Probability
    r: Annotated[float, Field(ge=0, lt=1)]
    accepted: bool


class Accept(Part):
    """By which rule the rows were judged, and the accepted path as flat rows, root first; `bonus` is the target's own
    token after `bonus_from`."""

    rule: Literal["greedy", "one-hot", "drawn"]
    row: Id
    path: Annotated[list[Id], Field(min_length=1)]
    length: Id
    draws: list[Draw]
    bonus: Id
    bonus_from: Id


class CacheCommit(Part):
    """The flat rows whose keys and values stay, and the target's cache length around the round."""

    kept: list[Id]
    length_before: Id
    length_after: Id


class RoundSeconds(Part):
    draft: Seconds
    tree: Seconds
    verify: Seconds
    accept: Seconds
    commit: Seconds


class Round(Part):
    index: Id
    prefix_length: Annotated[int, Field(ge=1, le=MOST)]
    root: Id
    candidates: Candidates
    layers: list[Layer]
    tree: Tree
    target: TargetView
    accept: Accept
    cache: CacheCommit
    seconds: RoundSeconds

    @model_validator(mode="after")
    def _columns_agree(self):
        check_round(self)
        return self

    def __repr__(self) -> str:
        return (f"<Round {self.index + 1}: layers {len(self.layers)}, candidates {len(self.candidates.token)}, kept "
                f"{len(self.tree.candidate) - 1}, accepted {self.accept.length};\n root {self.root} after "
                f"{self.prefix_length} tokens, bonus {self.accept.bonus}>")

    __str__ = __repr__

    @property
    def tokens(self) -> list[int]:
        """The flat tree's token ids, root first."""
        return [self.root] + [self.candidates.token[c - 1] for c in self.tree.candidate[1:]]

    @property
    def token_ids(self) -> dict[int, None]:
        """Every token id that the round mentions, in order of appearance."""
        tops = (token for row in self.target.top for token, _ in row)
        return dict.fromkeys([self.root, *self.candidates.token, *self.target.argmax, *tops, self.accept.bonus])

    @property
    def committed(self) -> list[int]:
        """The token ids this round commits to the cache: the root and the accepted drafted tokens."""
        tokens = self.tokens
        return [tokens[row] for row in self.accept.path]

    @property
    def decided(self) -> list[int]:
        """The token ids this round adds to the output, unless the run ends among them: the accepted, and the bonus."""
        return [*self.committed[1:], self.accept.bonus]

    def mask_row(self, row: int) -> list[bool]:
        """Row `row` of the tree mask as booleans, one for each row of the tree."""
        bits = bytes.fromhex(self.tree.mask[row])
        return [bool(bits[j // 8] >> (7 - j % 8) & 1) for j in range(len(self.tree.mask))]


FinishReason = Literal["eos", "stop", "length", "context", "cancelled"]


class Output(Part):
    token_ids: list[Id]
    text: Text
    finish_reason: FinishReason


class Summary(Part):
    """tau is tokens per round: the mean of accepted length + 1, and mean_acceptance_length its name elsewhere.
    acceptance_histogram[n] counts the rounds that accepted exactly n drafted tokens, accepted_by_depth[i] those that
    accepted at least i + 1, acceptance_rate_per_pos[i] is their share of the rounds; all reach as deep as the deepest
    candidate. draft_acceptance_rate is accepted by verified drafted tokens. Seconds are sums over the run; prefill is
    absent where it was not measured."""

    rounds: Id
    new_tokens: Id
    tau: Annotated[float, Field(ge=0)]
    accepted_by_depth: list[Id]
    mean_acceptance_length: Annotated[float, Field(ge=0)]
    acceptance_rate_per_pos: list[Annotated[float, Field(ge=0, le=1)]]
    draft_acceptance_rate: Annotated[float, Field(ge=0, le=1)]
    acceptance_histogram: list[Id]
    seconds: dict[Literal["prefill", "draft", "tree", "verify", "accept", "commit"], Seconds]
    target_forwards: Id
    head_forwards: Id


class Check(Part):
    """Comparison with plain decoding of the same target; lossless is null where none was made. `tokens` and `seconds`
    are what plain decoding wrote and took, where it ran, its prefill among them; `clock` is when each of its tokens was
    there, in seconds from its start. `choices`: where the two first differ, the token of plain decoding and that of this
    run, each with the logit that plain decoding's target gave it."""

    lossless: bool | None
    first_difference: Id | None
    note: Text
    tokens: Id | None
    seconds: Seconds | None
    clock: list[Seconds]
    choices: list[IdAndLogit]

    @model_validator(mode="after")
    def _one_clock(self):
        if self.clock and len(self.clock) != self.tokens:
            raise ValueError("has a clock of another number of tokens than it says")
        if any(later < sooner for sooner, later in zip(self.clock, self.clock[1:])):
            raise ValueError("has a clock that goes back")
        if len(self.choices) not in (0, 2) or (self.choices and self.lossless is not False):
            raise ValueError("has choices that no difference explains; two belong to a run that is not lossless")
        return self
