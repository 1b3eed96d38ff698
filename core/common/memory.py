"""Memory that has run out, on a CPU or a GPU: recognised, and said with the size that was wanted."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator

from ..errors import UserError

# PyTorch's allocators, CUDA and its libraries, C++, the system; each has words of its own and few have a type
WORDS = re.compile(r"not enough memory|DefaultCPUAllocator|out of memory|bad_alloc|cannot allocate memory|can't allocate memory"
                   r"|unable to allocate|ALLOC_FAILED|failed to map segment|can't start new thread", re.IGNORECASE)
SIZE = re.compile(r"allocate ([\d.]+) ?(bytes|[KMGT]i?B)")
UNITS = {"b": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def ran_out(error: BaseException) -> bool:
    """Is it memory that was missing? Few of those who miss it have a type of error for that: loaders, importers and
    PyTorch say it in words. A sentence of ours has said all there is to say."""
    return not isinstance(error, UserError) and (isinstance(error, MemoryError) or bool(WORDS.search(str(error))))


def size(count: float) -> str:
    """Bytes in words: 3.6 GB, 20 MB."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(count / 1e6, 0.1):.3g} MB"


def wanted(error: BaseException) -> str:
    """What could not be had, "3.6 GB more were wanted", or "" where the error does not say."""
    found = SIZE.search(str(error))
    return f"{size(float(found[1].rstrip('.')) * UNITS[found[2][0]])} more were wanted" if found else ""


@contextlib.contextmanager
def enough_memory(sentence: Callable[[str], UserError]) -> Iterator[None]:
    """Where memory runs out inside, raise `sentence(wanted)`; all that the failed work held is free by then."""
    try:
        yield
        return
    except Exception as error:
        if not ran_out(error):
            raise
        said = sentence(wanted(error))
    try:
        raise said
    finally:
        said.__context__ = None  # it would keep the failed work's tensors


def of_a_command(wanted: str) -> UserError:
    """For work that has no sentence of its own."""
    return UserError("The memory ran out" + f" ({wanted})" * bool(wanted) + "; close other programs, or ask for less: a "
                     "smaller file, a smaller model, or smaller numbers in the flags.")
