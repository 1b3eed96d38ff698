"""The target: the large model that has the last word. A piece of the prompt, one step, or one masked pass over a tree.

Wraps a transformers Llama; knows nothing of heads, scores or acceptance.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..tree import Tree
from .attention import NAME, can_attend
from .cache import KVCache, cache_argument
from .rope import context_of, placed, without_memory

PIECE = 1024  # rows of a prompt in one pass: a pass's memory grows with its rows, and between two a run can be stopped


class Target:
    """A Llama for one sequence at a time, with our cache and our masks.

    `forward` leaves new rows uncommitted in the cache: the caller decides which of them stay.
    """

    def __init__(self, model):
        self.model = model.eval()
        config = model.config
        self.hidden_size, self.vocab_size = config.hidden_size, config.vocab_size
        self.layers, self.context = config.num_hidden_layers, context_of(config)
        self._cache_argument = cache_argument(model.model.forward)
        self._tapped: set[int] = set()
        if config._attn_implementation == "sdpa":
            config._attn_implementation = NAME  # the same, but for pieces of a long prompt
        model.model.rotary_emb = self._rotary = without_memory(model.model.rotary_emb)

    @property
    def dtype(self) -> torch.dtype:
        """What it computes in now: a loaded model may be moved and turned."""
        return self.model.lm_head.weight.dtype

    @property
    def device(self) -> torch.device:
        return _device_of(self.model.model.embed_tokens)

    @property
    def attention(self) -> str:
        """The name of the attention that the model is set to, in transformers' words."""
        return self.model.config._attn_implementation

    def new_cache(self, capacity: int, taps: tuple[int, ...] = ()) -> KVCache:
        """An empty cache for `capacity` rows, each layer's part where the layer lives. taps: the boundaries of the
        stack that make up the features of a run with this cache."""
        config = self.model.config
        devices = [_device_of(layer) for layer in self.model.model.layers]
        for boundary in taps:
            self._tap(boundary)
        return KVCache(devices, config.num_key_value_heads, self._head_dim, capacity, self.dtype, taps)

    def _tap(self, boundary: int) -> None:
        """From now on, passes leave the states at `boundary` with those caches that ask for them."""
        if boundary in self._tapped:
            return
        self._tapped.add(boundary)

        def keep(states, kwargs: dict) -> None:
            cache = kwargs.get(self._cache_argument)
            if boundary in getattr(cache, "taps", ()):
                cache.taken[boundary] = (states[0] if isinstance(states, tuple) else states)[0]

        layers = self.model.model.layers
        if boundary < self.layers:
            layers[boundary].register_forward_pre_hook(
                lambda _, args, kwargs: keep(args[0] if args else kwargs["hidden_states"], kwargs), with_kwargs=True)
        else:
            layers[-1].register_forward_hook(lambda _, args, kwargs, states: keep(states, kwargs), with_kwargs=True)

    @property
    def row_bytes(self) -> int:
        """What the keys and values of one token take."""
        return 2 * self.layers * self.model.config.num_key_value_heads * self._head_dim * self.dtype.itemsize

    @property
    def _head_dim(self) -> int:
        config = self.model.config
        return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads

    def forward(self, token_ids: Tensor, position_ids: Tensor, mask: Tensor | None, cache: KVCache,
                prompt: int = 0) -> Tensor:
        """Hidden states after the final norm: what the lm_head sees.

        token_ids, position_ids [rows]; mask [rows, rows] bool among the new rows, the committed ones are always
        visible, or None for a piece (`attention.py`); prompt: how long the text is of which these rows are a part, where
        they are a part of the prompt
        -> [rows, hidden_size]
        """
        rows = len(token_ids)
        visible = torch.ones(1, 1, dtype=torch.bool)  # tells a piece
        if mask is not None:
            visible = torch.ones(rows, cache.length + rows, dtype=torch.bool)
            if rows > 1:  # one sees all there is, and itself
                visible[:, cache.length :] = mask
        if self.attention == "eager":  # whoever looks at its weights: it adds what it is given
            visible = torch.zeros(visible.shape, dtype=self.dtype).masked_fill(~visible, torch.finfo(self.dtype).min)
        output = self.model.model(
            input_ids=token_ids[None].to(self.device),
            position_ids=placed(self._rotary, position_ids, prompt).to(self.device),
            attention_mask=visible[None, None].to(self.device),
            use_cache=True, return_dict=True,
            **{self._cache_argument: cache},
        )
        return output.last_hidden_state[0]

    def logits(self, features: Tensor) -> Tensor:
        """[rows, hidden_size] -> [rows, vocab_size], also for states that a head predicts."""
        return self.model.lm_head(features)

    def output_rows(self, token_ids: Tensor) -> Tensor:
        """The lm_head's rows for some tokens [n] -> [n, hidden_size]."""
        weight = self.model.lm_head.weight
        return weight[token_ids.to(weight.device)]

    def features(self, hidden: Tensor, cache: KVCache) -> Tensor:
        """What a head reads of the pass that gave `hidden` [rows, hidden_size]: that itself, or, where the cache has
        taps, the states at these boundaries side by side, lowest first [rows, taps * hidden_size].

        Boundary b is what goes into layer b, before any norm; the last boundary is what comes out of the last layer.
        """
        if not cache.taps:
            return hidden
        taken, cache.taken = cache.taken, {}
        return torch.cat([taken[boundary].to(hidden.device) for boundary in cache.taps], dim=-1)

    def read(self, token_ids: Tensor, cache: KVCache, prompt: int = 0) -> tuple[Tensor, Tensor]:
        """Read the next tokens [rows] and commit them, each seeing all before it -> hidden states after the final norm
        [rows, hidden_size], and features.

        prompt: the length of the whole prompt, where these are a piece of it.
        """
        rows, before = len(token_ids), cache.length
        piece = (before and rows > 1 and self.dtype is torch.float32 and self.device.type == "cpu"
                 and self.attention == NAME and can_attend())
        mask = None if piece else torch.ones(rows, rows, dtype=torch.bool).tril()
        hidden = self.forward(token_ids, torch.arange(before, before + rows), mask, cache, prompt)
        cache.commit(rows)
        return hidden, self.features(hidden, cache)

    def verify(self, tree: Tree, cache: KVCache) -> tuple[Tensor, Tensor]:
        """Read root and tree in one pass: positions by depth, each row seeing its ancestors only.

        -> logits [rows, vocab], features as of `read`; the rows wait in the cache for `keep`.
        """
        hidden = self.forward(tree.token, tree.depth + cache.length, tree.mask, cache)
        return self.logits(hidden), self.features(hidden, cache)

    def verify_apart(self, tree: Tree, cache: KVCache) -> tuple[Tensor, Tensor, Tensor]:
        """`verify`, where a row that is not finite spoils none that may not see it (masked, but 0 * NaN is NaN).

        -> logits (NaN where not sound), features, and sound [rows] bool, on the CPU: whether the row is finite, and all
        that it sees of the tree.
        """
        spoilt = torch.zeros(len(tree.token), dtype=torch.bool)

        def guard(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:            # [1, kv_heads, rows, head_dim]
            bad = ~(key.isfinite() & value.isfinite()).all(dim=3).all(dim=1)[0]    # [rows]
            spoilt.logical_or_(bad.cpu())
            return key.masked_fill(bad[:, None], 0), value.masked_fill(bad[:, None], 0)

        cache.guard = guard
        try:
            logits, features = self.verify(tree, cache)
        finally:
            cache.guard = None
        sound = logits.amax(dim=-1).isfinite().cpu() & ~(tree.mask & spoilt).any(dim=1)
        return logits.masked_fill(~sound.to(logits.device)[:, None], torch.nan), features, sound

    def step(self, token: int, cache: KVCache) -> Tensor:
        """Plain decoding: read and commit one token -> logits [vocab]."""
        return self.logits(self.read(torch.tensor([token]), cache)[0])[0]


def pieces(prompt_ids: Tensor) -> tuple[Tensor, ...]:
    """A prompt [P] in equal pieces of at most PIECE tokens."""
    return prompt_ids.chunk(passes_of(len(prompt_ids)))


def passes_of(tokens: int) -> int:
    """The passes in which a prompt is read."""
    return -(-tokens // PIECE)


def _device_of(module: torch.nn.Module) -> torch.device:
    """Where a module computes; with accelerate's offloading its weights may be elsewhere."""
    hook = getattr(module, "_hf_hook", None)
    device = getattr(hook, "execution_device", None)
    if device is None:
        return next(module.parameters()).device
    return torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
