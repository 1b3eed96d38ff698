"""A pair: a target, a head trained for it, and the tokenizer that both share."""

from __future__ import annotations

from dataclasses import dataclass

from .head import Head
from .target import Target


@dataclass(frozen=True)
class Pair:
    name: str
    target: Target
    head: Head
    tokenizer: object | None    # a transformers tokenizer; without one, prompts are token ids and words are numbers
    eos_ids: tuple[int, ...]    # from the generation config: Llama-3, for one, has several
    target_source: str          # where the weights came from, as the trace records it
    draft_source: str
    notes: tuple[str, ...] = ()  # what whoever decodes with it should know, a sentence each
    left_out: tuple[str, ...] = ()  # rules of the generation config that no decoding here follows

    def remark(self, note: str) -> str:
        """A note on a run, for its trace: what was left out of it belongs to it."""
        return note + f"; not applied: {', '.join(self.left_out)} (generation config)" * bool(self.left_out)

    @property
    def words(self) -> int:
        """The tokens that the head can say."""
        return self.target.vocab_size if self.head.ids is None else len(self.head.ids)

    def describe(self) -> dict:
        """The `pair` part of a trace."""
        target = self.target
        return {
            "name": self.name, "target": self.target_source, "draft": self.draft_source,
            "device": str(target.device), "dtype": str(target.dtype).removeprefix("torch."),
            "vocab_size": target.vocab_size, "hidden_size": target.hidden_size, "num_hidden_layers": target.layers,
            "head": {"kind": self.head.kind, "layers": list(self.head.taps) or [target.layers],
                     "vocab_size": self.words},
        }
