"""How many of a CPU's threads a run uses.

PyTorch shares every product among all processors, and each waits for the last. In a small model a product is a few
microseconds of work, so a second thread brings little on an idle machine, and on a busy one each product waits until
the system gives that thread its turn: many times slower. So a small model decodes on one thread, unless told otherwise
by `--threads` or OMP_NUM_THREADS.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from ..errors import UserError

SMALL = 30_000_000  # parameters of a target; the largest product of such a model is some tens of microseconds
MOST = 1024

_chosen: int | None = None


def choose(count: int | None) -> None:
    """What `--threads` says, for every run from now on; None leaves it to the model. Raises UserError."""
    global _chosen
    if count is not None and not 1 <= count <= MOST:
        raise UserError(f"--threads is {count}; give a number from 1 to {MOST}, at best no more than the "
                        f"{os.cpu_count()} processors of this machine.")
    _chosen = count


def threads_for(model) -> int:
    """The threads that a run with this target's model uses."""
    import torch
    if _chosen is not None:
        return _chosen
    if "OMP_NUM_THREADS" not in os.environ and sum(weight.numel() for weight in model.parameters()) < SMALL:
        return 1
    return torch.get_num_threads()


@contextlib.contextmanager
def using(count: int) -> Iterator[None]:
    """PyTorch uses `count` threads until the end of the block."""
    import torch
    before = torch.get_num_threads()
    if count == before:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
