"""Linear layers for few rows on a CPU: the same product, computed so that a row more costs little.

Decoding multiplies large matrices with few rows: one row in plain decoding, a tree in verification. PyTorch's float32
`F.linear` is slow there, up to twice as slow for two to eight rows as it needs to be. Two forms are faster: one or two
rows as `(W @ x.T).T`, more rows through oneDNN with the weight laid out for it beforehand (what `torch.compile` does
with weights that it may take for constants). Then verifying a small tree is nearly as cheap as plain decoding, as it
should be. Measure again with `python -m core.model.linear`.

A laid-out weight is a copy, and people change the weights of a loaded model: they ablate a head, merge a LoRA, load
another state. PyTorch's own version counter does not see it all (not `.data`, not numpy). So a run begins by reading
the weights once (`refresh`, the price of about one pass), and nobody but a run's own steps uses the copies.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

FEW = 2  # rows; above it the laid-out weight is faster
PACKED_LIMIT = 2 << 30  # bytes of weights in a module; the laid-out weight is a second copy, too much for a large model


def few_rows_linear(x: Tensor, weight: Tensor) -> Tensor:
    """x [..., in] @ weight[out, in].T -> [..., out], for very few rows.

    Input and result are laid out row by row, at the cost of a tiny copy: of the forms of this product, the one that
    reads a transposed view of contiguous rows is the fast one. A single row is faster together with a copy of itself.
    """
    rows = x.numel() // x.shape[-1]
    flat = x.reshape(rows, -1).contiguous()
    product = weight @ (flat if rows > 1 else torch.cat([flat, flat])).T            # [out, rows]
    return product[:, :rows].T.contiguous().view(*x.shape[:-1], weight.shape[0])


class FewRowsLinear(nn.Linear):
    """A bias-free float32 layer on a CPU, for inference. Asked for gradients, it is the usual layer."""

    packed: Tensor | None = None    # the weight laid out for oneDNN; not a buffer: it is no part of the state, and
    seal: Tensor | None = None      # nothing that moves a module's tensors should touch it. Of what weight it is a copy
    copies: Copies | None = None    # whether it may be used; None where there is to be none

    def forward(self, x: Tensor) -> Tensor:
        rows = x.numel() // x.shape[-1]
        if rows == 0 or self._parameters.get("bias") is not None or (
                torch.is_grad_enabled() and (x.requires_grad or self.weight.requires_grad)):
            return F.linear(x, self.weight, self.bias)
        if rows <= FEW:
            return few_rows_linear(x, self.weight)
        if self.packed is None or not self.copies.in_use:  # nobody but a run has looked whether it is still a copy
            return F.linear(x, self.weight)
        return torch.ops.mkldnn._linear_pointwise(x, self.packed, None, "none", [], "")

    def __getstate__(self) -> dict:
        """For copies of the module and files: without the laid-out weight, which can be neither copied nor written."""
        return {name: value for name, value in super().__getstate__().items() if name not in ("packed", "seal", "copies")}

    @torch.no_grad()
    def lay_out(self) -> None:
        """Make `packed` a copy of the weight as it is now, unless it is one; drop it where it could not stay one."""
        weight = self._parameters.get("weight")
        suits = (weight is not None and not self._forward_pre_hooks  # a weight that is computed anew in each pass
                 and weight.dtype is torch.float32 and weight.device.type == "cpu")
        seal = _seal(weight) if suits else None
        if seal is None or self.seal is None or not torch.equal(seal, self.seal):
            self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), 64) if suits else None
        self.seal = seal


def _seal(weight: Tensor) -> Tensor:
    """A few numbers that tell a weight [out, in] from any other that an edit could make of it, read at the speed of memory.

    The sums of the rows as numbers, the sums of the columns as bits: a changed bit changes its column's sum, and what
    leaves those alone (rows that change places, signs that change in pairs) changes the rows' sums.
    """
    weight = weight.detach().contiguous()
    rows = weight.sum(1).view(torch.int32)  # as bits: NaN is equal to itself
    wide = weight.view(torch.int64 if weight.shape[1] % 2 == 0 else torch.int32)
    return torch.cat([rows, wide.sum(0).view(torch.int32)])


@dataclass(eq=False, slots=True)
class Copies:
    """What the layers of a module share: whether their laid-out weights may be used now."""

    in_use: bool = False


def layer_of(weight: Tensor) -> nn.Linear:
    """A bias-free layer of a given weight [out, in], not copied."""
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False, device="meta")
    layer.weight = nn.Parameter(weight, requires_grad=False)
    return layer


def speed_up(module: nn.Module, private: bool = False) -> nn.Module:
    """Give every bias-free float32 CPU linear layer of `module` the faster forms, in place.

    Where the weights are small enough to be held twice, and oneDNN is there, they are laid out for it too, for the runs
    that `refresh` them. Layers that are `private` are nobody else's to change, and use theirs always.
    """
    layers = [layer for layer in module.modules() if type(layer) is nn.Linear and layer.bias is None
              and layer.weight.dtype is torch.float32 and layer.weight.device.type == "cpu"]
    pack = _can_pack() and sum(layer.weight.nbytes for layer in layers) <= PACKED_LIMIT
    copies = Copies(private) if pack else None
    for layer in layers:
        layer.__class__ = FewRowsLinear
        layer.copies = copies
        if pack:
            layer.lay_out()
    return module


def refresh(*modules: nn.Module) -> list[Copies]:
    """Lay out anew what has changed in the modules -> what says whether the laid-out weights may be used."""
    layers = [layer for module in modules for layer in module.modules()
              if isinstance(layer, FewRowsLinear) and layer.copies is not None]
    for layer in layers:
        layer.lay_out()
    return [*{layer.copies: None for layer in layers}]


@functools.cache
def _can_pack() -> bool:
    """oneDNN's linear is an internal operator of PyTorch: where it is missing or has changed, we do without."""
    if not torch.backends.mkldnn.is_available():
        return False
    try:
        x, weight = torch.ones(3, 8), torch.eye(8)
        packed = torch.ops.mkldnn._reorder_linear_weight(weight, 64)
        return torch.equal(torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], ""), x)
    except (AttributeError, RuntimeError, TypeError):
        return False


@contextlib.contextmanager
def usual_form(module: nn.Module) -> Iterator[None]:
    """The layers of `module` as PyTorch does them, for comparison."""
    changed = [layer for layer in module.modules() if type(layer) is FewRowsLinear]
    for layer in changed:
        layer.__class__ = nn.Linear
    try:
        yield
    finally:
        for layer in changed:
            layer.__class__ = FewRowsLinear


def _measure() -> None:
    shapes = [(576, 576), (192, 576), (192, 576), (576, 576), (1536, 576), (1536, 576), (576, 1536)]
    blocks = nn.ModuleList(nn.Linear(width, out, bias=False) for _ in range(30) for out, width in shapes)
    output = nn.ModuleList([nn.Linear(576, 49152, bias=False)])
    for layers in (blocks, output):
        speed_up(layers, private=True)

    def turn(rows, layers):
        inputs = {width: torch.randn(rows, width) for width in (576, 1536)}
        start = time.perf_counter()
        for layer in layers:
            layer(inputs[layer.in_features])
        return 1e3 * (time.perf_counter() - start)

    print(f"{torch.get_num_threads()} threads; ms for 30 blocks of a 135M Llama / for its output; best of 7, in turns")
    for rows in (1, 2, 3, 4, 8, 16, 32, 60, 128):
        for part, layers in (("blocks", blocks), ("output", output)):
            usual = ours = float("inf")
            for _ in range(7):
                ours = min(ours, turn(rows, layers))
                with usual_form(layers):
                    usual = min(usual, turn(rows, layers))
            print(f"{rows} rows, {part}: F.linear {usual:6.1f}, here {ours:6.1f}, {usual / ours:.2f} x")


if __name__ == "__main__":
    with torch.inference_mode():
        _measure()
