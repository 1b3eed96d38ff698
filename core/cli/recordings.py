"""The recorded runs that come with the program, made by the real decoder, and made again by one command.

Each is worth watching for one reason, which the page says in a sentence (section "runs" of `assets/words/`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..config import DecodeConfig
from ..errors import UserError
from ..measure.check import comparing
from ..model.pair import Pair
from ..pairs.chat import encode
from ..pairs.fetch import disk_error
from ..trace.events import TraceBuilder
from ..trace.record import stream

HOME = Path(__file__).resolve().parents[2] / "assets" / "traces"


@dataclass(frozen=True)
class Recording:
    name: str
    prompt: str
    settings: dict = field(default_factory=dict)
    chat: bool = True
    pair: str = "smollm2-135m"


SMALL = {"top_k": 4, "depth": 4, "total_tokens": 16}

RECORDINGS = (
    Recording("sky-small", "Why is the sky blue?", SMALL | {"max_new_tokens": 48}),
    Recording("sky", "Why is the sky blue?", {"max_new_tokens": 40}),
    Recording("chain", "Why is the sky blue?", {"policy": "chain", "length": 5, "max_new_tokens": 40}),
    Recording("deep", "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday, Monday, Tuesday,",
              {"max_new_tokens": 64}, chat=False),
    Recording("wide", "Once upon a time", {"max_new_tokens": 40}, chat=False),
    Recording("code", "Write a Python function that returns the n-th Fibonacci number.", {"max_new_tokens": 56}),
    Recording("arithmetic", "A shop sells 12 apples for 3 dollars. How much do 20 apples cost?", {"max_new_tokens": 48}),
    Recording("sampled", "Describe a walk along the sea in the morning.",
              SMALL | {"temperature": 0.8, "top_p": 0.95, "seed": 3, "max_new_tokens": 48}),
    Recording("split-characters", "床前明月光，疑是地上霜。举头望明月，", SMALL | {"max_new_tokens": 40}, chat=False),
    Recording("storybook", "Once upon a time", SMALL | {"temperature": 1.0, "seed": 1, "max_new_tokens": 64}, chat=False,
              pair="storybook"),
    Recording("lost", "Lorem ipsum dolor sit amet, consectetur", {"max_new_tokens": 32}, chat=False),
)


def record(pair: Pair, recordings: list[Recording], home: Path = HOME) -> Iterator[str]:
    """Decode each recording with `pair`, check it, and write it; yields a line each.

    Raises UserError where the folder cannot be written or a greedy run is not lossless.
    """
    for recording in recordings:
        config = DecodeConfig(**recording.settings)
        ids = encode(pair, recording.prompt, recording.chat)
        builder = TraceBuilder()
        for event in stream(pair, ids, config, recording.prompt):
            builder.add(event)
        for event in comparing(pair, ids, config, builder.document["output"]["token_ids"]):
            builder.add(event)
        trace = builder.trace
        if trace.check.lossless is False:
            raise UserError(f"{recording.name} is not lossless ({trace.check.note}); it was not written.")
        path = home / f"{recording.name}.json.gz"
        try:
            home.mkdir(parents=True, exist_ok=True)
            trace.save(path)
        except OSError as error:
            raise disk_error(error, home) from None
        yield (f"{recording.name}: {trace.summary.rounds} rounds, tau {trace.summary.tau:.2f}, "
               f"{path.stat().st_size / 1e3:.0f} kB: {trace.output.text[:60]!r}")


def choose(names: list[str]) -> list[Recording]:
    """Recordings by name, all of them without names. Raises UserError."""
    known = {r.name: r for r in RECORDINGS}
    for name in names:
        if name not in known:
            raise UserError(f'There is no recording "{name}"; there is {", ".join(known)}.')
    return [known[name] for name in names] if names else list(RECORDINGS)
