"""The key-value cache: append a block of rows, keep a path of it, forget the rest.

One tensor per device holds all its layers, so that keeping a path is one gather per device. It is sized for one
run and dies with it. Speaks the small protocol that transformers' attention layers expect of a cache, and carries out
of a pass what else is wanted of it: the states at some boundaries of the stack.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import torch
from torch import Tensor


def cache_argument(forward: Callable) -> str:
    """The name under which a transformers forward takes a cache: renamed in 5.x, the protocol is the same."""
    return "cache" if "cache" in inspect.signature(forward).parameters else "past_key_values"


def finite_only(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """A guard: what is not finite becomes 0, in place. A masked row has weight 0, but 0 * NaN is NaN."""
    return key.nan_to_num_(0.0, 0.0, 0.0), value.nan_to_num_(0.0, 0.0, 0.0)


class KVCache:
    """Keys and values of a sequence of rows; `length` of them are committed, later ones are scratch.

    layer_devices lists the device of each layer; kv_heads, head_dim and capacity (rows) size the tensors. taps: the
    boundaries whose states the next pass leaves in `taken`, by boundary, each [rows, hidden].
    """

    is_compileable = False

    def __init__(self, layer_devices: list[torch.device], kv_heads: int, head_dim: int, capacity: int,
                 dtype: torch.dtype, taps: tuple[int, ...] = ()):
        self.capacity, self.length, self.scratch = capacity, 0, 0
        self.taps, self.taken = taps, {}
        self.guard: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] | None = None  # what may be written of new rows
        self._place = []  # layer -> (device, index within the device's block)
        count: dict[torch.device, int] = {}
        for device in layer_devices:
            self._place.append((device, count.get(device, 0)))
            count[device] = count.get(device, 0) + 1
        self._blocks = {device: torch.zeros(layers, 2, kv_heads, capacity, head_dim, dtype=dtype, device=device)
                        for device, layers in count.items()}

    def update(self, key: Tensor, value: Tensor, layer: int, *_, **__) -> tuple[Tensor, Tensor]:
        """Write new rows after the committed and scratch ones and return all of them (called by each layer).

        key, value [1, kv_heads, rows, head_dim] -> [1, kv_heads, length + scratch + rows, head_dim]
        """
        if self.guard:
            key, value = self.guard(key, value)
        device, index = self._place[layer]
        block = self._blocks[device][index]                       # [2, kv_heads, capacity, head_dim]
        start = self.length + self.scratch
        end = start + key.shape[2]
        assert end <= self.capacity, f"the cache holds {self.capacity} rows, {end} are needed"
        block[0, :, start:end] = key[0]
        block[1, :, start:end] = value[0]
        return block[0, :, :end][None], block[1, :, :end][None]

    def get_seq_length(self, layer: int = 0) -> int:
        return self.length + self.scratch

    def commit(self, rows: int) -> None:
        """The next `rows` rows, just written, stay."""
        self.length, self.scratch = self.length + rows, 0

    def hold(self, rows: int) -> None:
        """The next `rows` rows, just written, may be attended to until `release`."""
        self.scratch += rows

    def release(self) -> None:
        self.scratch = 0

    def keep(self, path: list[int]) -> None:
        """Of the block written after the committed rows, keep the rows on `path` (ascending) and forget the rest."""
        if path != list(range(len(path))):
            for device, block in self._blocks.items():
                rows = torch.tensor(path, device=device) + self.length
                block[:, :, :, self.length : self.length + len(path)] = block.index_select(3, rows)
        self.commit(len(path))
