"""Named pairs: what there is, where its weights come from, and whether they are on this machine.

A new pair is an entry in PAIRS. Targets and heads that are not in the repository are fetched by the user's machine
from the model hub, under their own licences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UserError
from . import smollm2
from .fetch import Progress, silent

if TYPE_CHECKING:
    from ..model.pair import Pair

ASSETS = Path(__file__).resolve().parents[2] / "assets"
STORYBOOK = ASSETS / "storybook"


@dataclass(frozen=True)
class NamedPair:
    name: str
    summary: str
    licence: str
    target: Callable[[Progress], tuple[Path | str, str]]  # -> directory or hub id, and the name the trace records
    head: Path | str                                      # directory or hub id
    here: Callable[[], bool] = lambda: True
    family: str | None = None                             # whose chat words it speaks, where its tokenizer has none
    cpu: dict | None = None                               # settings that pay on a CPU, where the papers' tree does not
    fetch: str = ""                                       # how much is to be fetched, "" where all is in the repository
    gpu: bool = False                                     # too large for a CPU
    chat: bool = True                                     # its target was trained on conversations


def load_named(name: str, device: str = "auto", dtype: str = "auto", progress: Progress = silent,
               device_map: str | None = None, target_embedding: bool = False) -> Pair:
    """Load a pair by name, fetching what is missing. Raises UserError, one sentence."""
    from .chat import choose_template
    from .checkpoint import choose_device, choose_dtype, load_pair  # torch comes in when a pair is loaded, not listed
    entry = named(name)
    choose_dtype(dtype, choose_device(device))  # a mistake in these should not cost a download
    directory, source = entry.target(progress)
    progress(f"Loading {name}" if entry.here() else f"Fetching and loading {name} ({entry.summary})", None)
    head_source = f"{name} (ours)" if isinstance(entry.head, Path) else entry.head
    pair = load_pair(directory, entry.head, device, dtype, device_map, name, source, head_source, target_embedding)
    if entry.family and pair.tokenizer is not None and not pair.tokenizer.chat_template:
        choose_template(pair, entry.family)
    return pair


def named(name: str) -> NamedPair:
    """Raises UserError where there is no pair of that name."""
    if name not in PAIRS:
        raise UserError(f'There is no pair "{name}"; there is {", ".join(PAIRS)}, or give --target and --draft.')
    return PAIRS[name]


def pair_lines() -> Iterator[str]:
    """The pairs in words, one line each: name, whether it is here, what it is, its licence."""
    for entry in PAIRS.values():
        yield f"{entry.name:<15} {'here' if entry.here() else 'to fetch':<9} {entry.summary}; {entry.licence}"


def official(name: str, target: str, head: str, licence: str, size: str, family: str | None = None) -> NamedPair:
    """A pair of two hub repositories, as their authors published them."""
    return NamedPair(name, f"{target} with {head}, {size} to fetch, wants a GPU", licence, lambda progress: (target, target),
                     head, lambda: _in_hub_cache(target) and _in_hub_cache(head), family, fetch=size, gpu=True)


def _in_hub_cache(repository: str) -> bool:
    from .hub import in_cache
    return in_cache(repository)


DEFAULT = "smollm2-135m"
PAIRS = {entry.name: entry for entry in (
    NamedPair("smollm2-135m", "SmolLM2-135M-Instruct, 93 to 270 MB to fetch; the head is in the repository", "Apache-2.0",
              smollm2.smollm2_target, ASSETS / "heads" / "smollm2-135m", smollm2.here,
              cpu={"top_k": 2, "depth": 2, "total_tokens": 5, "draft_vocab": 8192}, fetch="93 to 270 MB"),
    # a story teller of 2.4 M parameters, raw text: its prompts are beginnings of stories, not questions
    NamedPair("storybook", "a small story teller of our own, in the repository; no network", "ours",
              lambda progress: (STORYBOOK / "target", "storybook (ours)"), STORYBOOK / "head",
              cpu={"top_k": 2, "depth": 6, "total_tokens": 10}, chat=False),
    official("llama3.2-1b", "meta-llama/Llama-3.2-1B-Instruct", "yuhuili/EAGLE-LLaMA3.2-Instruct-1B",
             "Llama 3.2 Community License (gated)", "4 GB"),
    official("llama3.2-3b", "meta-llama/Llama-3.2-3B-Instruct", "linborui/EAGLE-Llama-3.2-3B-Instruct",
             "Llama 3.2 Community License (gated)", "8 GB"),
    official("llama2-chat-7b", "meta-llama/Llama-2-7b-chat-hf", "yuhuili/EAGLE-llama2-chat-7B",
             "Llama 2 Community License (gated)", "15 GB"),
    official("vicuna-7b", "lmsys/vicuna-7b-v1.3", "yuhuili/EAGLE-Vicuna-7B-v1.3", "non-commercial (LLaMA)", "15 GB",
             "vicuna"),
    official("llama3-8b", "meta-llama/Meta-Llama-3-8B-Instruct", "yuhuili/EAGLE-LLaMA3-Instruct-8B",
             "Llama 3 Community License (gated)", "18 GB"),
)}
