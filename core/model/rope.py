"""Rope that depends on the length of the text, and the length that a rope can carry.

Two kinds change their frequencies with the length: "dynamic" beyond max_position_embeddings, "longrope" at
original_max_position_embeddings. transformers gives a whole pass the frequencies of its last position, and remembers
how far the pass before it came. In plain decoding that is: a prompt is turned as its end asks for, every later token
as its own place does, and a key stays in the cache as it was turned. A tree holds rows of several places in one pass,
so here every row is turned as if it had come alone, and nothing is remembered from run to run.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from ..common.files import reason
from ..errors import UserError


class RopeByLength(nn.Module):
    """A rotary embedding whose frequencies depend on the length, without a memory.

    position_ids [batch, rows]: all rows have the frequencies of the pass's last position, as in transformers.
    Or [2, batch, rows], from `placed`: positions, and the length of the text as each row sees it.
    """

    def __init__(self, rotary: nn.Module):
        super().__init__()
        self.config, self.kind, self.scaling = rotary.config, rotary.rope_type, rotary.attention_scaling
        self.border = (self.config.rope_parameters["original_max_position_embeddings"] if self.kind == "longrope"
                       else self.config.max_position_embeddings)
        self.short = nn.Buffer(rotary.original_inv_freq, persistent=False)  # up to the border
        try:
            self._frequencies(torch.tensor(self.border + 1))  # a list too short or too long would show at the border only
        except Exception as error:  # of arithmetic with somebody else's numbers
            raise UserError(f"The {self.kind} rope cannot be computed beyond {self.border} tokens ({reason(error)}); mend its "
                            "numbers in config.json.") from None

    def forward(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        """-> cos, sin [batch, rows, head_dim]; of x only device and dtype matter."""
        if position_ids.dim() == 2:
            lengths = (position_ids.max() + 1).expand_as(position_ids)
        else:
            position_ids, lengths = position_ids
        distinct, place = lengths.unique(return_inverse=True)
        tables = torch.stack([self._frequencies(length) for length in distinct]).to(x.device)  # [lengths, head_dim / 2]
        angles = (position_ids[..., None].float() * tables[place]).repeat(1, 1, 2)
        return (angles.cos() * self.scaling).to(x.dtype), (angles.sin() * self.scaling).to(x.dtype)

    def _frequencies(self, length: Tensor) -> Tensor:
        if length <= self.border:
            return self.short
        return ROPE_INIT_FUNCTIONS[self.kind](self.config, self.short.device, seq_len=length.to(self.short.device))[0]


def without_memory(rotary: nn.Module) -> nn.Module:
    """transformers' rotary embedding as it is, or a RopeByLength where its frequencies depend on the length.

    Raises UserError where it turns a part of each attention head only, which a Llama's layers cannot.
    """
    if isinstance(rotary, RopeByLength):
        return rotary
    turned, width = 2 * len(rotary.inv_freq), rotary.config.head_dim
    if turned != width:
        raise UserError(f"The rope turns {turned} numbers of an attention head that has {width}, and a Llama turns all of "
                        "them; mend head_dim or partial_rotary_factor in config.json.")
    return RopeByLength(rotary) if rotary.rope_type in ("dynamic", "longrope") else rotary


def placed(rotary: nn.Module, position_ids: Tensor, prompt: int = 0) -> Tensor:
    """What `rotary` is to be given for rows [rows] that are decoded one by one after a prompt of `prompt` tokens."""
    if not isinstance(rotary, RopeByLength):
        return position_ids[None]
    return torch.stack([position_ids, (position_ids + 1).clamp(min=prompt)])[:, None]


def context_of(config) -> int:
    """The tokens that a Llama of this config can carry.

    max_position_embeddings is the length before scaling where the rope is linear, dynamic or proportional. A yarn's
    config gives the length before as original_max_position_embeddings, and max_position_embeddings may be either. With
    llama3 and longrope it is the one after, whatever the factor.
    """
    rope, context = config.rope_parameters, config.max_position_embeddings
    if rope["rope_type"] not in ("linear", "dynamic", "proportional", "yarn"):
        return context
    before = rope["original_max_position_embeddings"] if rope["rope_type"] == "yarn" else context
    after = before * (rope.get("factor") or 1)
    return max(context, int(after)) if math.isfinite(after) else context
