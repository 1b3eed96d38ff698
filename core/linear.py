"""Linear layers for a handful of rows on a CPU: the same product, written the other way round.

Decoding multiplies large matrices with few rows. PyTorch's float32 `F.linear` is slow there: for 2 to 8 rows it takes
up to twice as long as `(W @ x.T).T`, and one row through a large output (a vocabulary) three times as long as the row
and a copy of itself. Verifying a small tree is then nearly as cheap as plain decoding, as it should be.
Measure again with `python -m core.linear`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

FEW = 8  # rows; above it the usual form is as fast or faster


def few_rows_linear(x: Tensor, weight: Tensor) -> Tensor:
    """x [..., in] @ weight[out, in].T -> [..., out].

    Input and result are laid out row by row, at the cost of a tiny copy: of the forms of this product, the one that
    reads a transposed view of contiguous rows is the fast one.
    """
    rows = x.numel() // x.shape[-1]
    if not 0 < rows <= FEW:
        return F.linear(x, weight)
    flat = x.reshape(rows, -1).contiguous()
    product = weight @ (flat if rows > 1 else torch.cat([flat, flat])).T            # [out, rows]
    return product[:, :rows].T.contiguous().view(*x.shape[:-1], weight.shape[0])


class FewRowsLinear(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return few_rows_linear(x, self.weight)


def speed_up(module: nn.Module) -> nn.Module:
    """Give every bias-free float32 CPU linear layer of `module` the faster form, in place."""
    for layer in module.modules():
        if type(layer) is nn.Linear and layer.bias is None and layer.weight.dtype is torch.float32 \
                and layer.weight.device.type == "cpu":
            layer.__class__ = FewRowsLinear
    return module


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
    blocks = [torch.randn(shape) for _ in range(30) for shape in shapes]
    output = torch.randn(49152, 576)

    def turn(form, rows, weights):
        inputs = {width: torch.randn(rows, width) for width in (576, 1536)}
        start = time.perf_counter()
        for weight in weights:
            form(inputs[weight.shape[1]], weight)
        return 1e3 * (time.perf_counter() - start)

    print(f"{torch.get_num_threads()} threads; ms for 30 blocks of a 135M Llama / for its output; best of 7, in turns")
    for rows in (1, 2, 4, 8, 12, 16, 24):
        best = {(form, part): min(turn(form, rows, weights) for _ in range(7))
                for part, weights in (("blocks", blocks), ("output", [output])) for form in (F.linear, few_rows_linear)}
        for part in ("blocks", "output"):
            usual, ours = best[F.linear, part], best[few_rows_linear, part]
            print(f"{rows} rows, {part}: F.linear {usual:6.1f}, here {ours:6.1f}, {usual / ours:.2f} x")


if __name__ == "__main__":
    with torch.inference_mode():
        _measure()
