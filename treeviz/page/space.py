"""Where the page is hosted: what a Hugging Face Space asks for. On any other machine nothing here does anything.

On ZeroGPU a GPU is lent to one function at a time, which runs in a process of its own: it takes and returns plain
data, and says beforehand how many seconds it needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from core.config import DecodeConfig

LONGEST = 120  # seconds; what a visitor may still use today must cover what is asked


def zero() -> bool:
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


def hosted() -> bool:
    """On a Space, which is there for everybody?"""
    return bool(os.environ.get("SPACE_ID"))


def host() -> str:
    """Where to listen: as the platform says, everywhere on a Space, on this machine only elsewhere."""
    return os.environ.get("GRADIO_SERVER_NAME") or ("0.0.0.0" if hosted() else "localhost")


def visitor(request) -> str:
    """The network address that a request comes from. On a Space the platform's own proxy tells it, as the last of those
    in the header; elsewhere anybody could write that header."""
    told = request.headers.get("x-forwarded-for", "") if hosted() else ""
    return told.rpartition(",")[2].strip() or (request.client.host if request.client else "")


def on_gpu(task: Callable[[dict], Iterator[dict]]) -> Callable[[dict], Iterator[dict]]:
    """`task` where ZeroGPU has a GPU for it; on any other machine, `task` itself."""
    if not zero():
        return task
    import spaces  # there on ZeroGPU, and nowhere else needed
    return spaces.GPU(task, duration=seconds)


def seconds(request: dict) -> int:
    """What a task may take on a GPU. A measurement says so itself (`measured.py`); a run at worst: a round per token, the
    target's pass and depth + 1 of the head's in each, and the recording of its rows; then, perhaps, plain decoding."""
    if "seconds" in request:
        return min(LONGEST, round(10 + request["seconds"]))
    config = request["config"]
    bounds = DecodeConfig.from_dict(config).bounds
    a_round = 0.03 + 0.004 * bounds.passes + 0.0003 * (bounds.rows - 1)
    plain = 0.03 * request["compare"]  # a token, one row
    return min(LONGEST, round(10 + config["max_new_tokens"] * (a_round + plain)))
