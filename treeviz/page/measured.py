"""What the page measures: what a pass costs by its rows, which settings suit a pair. Told in plain data, as runs are.

A measurement is over after the seconds that it was asked for, or nearly so, and with it what is known is told. Knows no
gradio; torch comes in when the first one starts.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from contextlib import closing, suppress

from core.errors import UserError

from ..story.phrases import said_by, say

CURVE = 8  # seconds of a sweep for the cost curve, where none was measured before


def parts(watched, request: dict) -> Iterator[dict]:
    """The parts of a measurement, in order: {"share", "note"} as it goes on, with the "cost" known by then; {"cost"} or
    {"sweep"} at the end; {} where nothing is new, so that it may be closed; {"error"}, a sentence, where it failed.
    watched: the pair, as `live` holds it."""
    try:
        yield from MEASUREMENTS[request["what"]](watched, request)
    except Exception as error:
        if isinstance(error, ValueError):  # every error of the decoder is a sentence
            yield {"error": said_by(error, "error.decoder")}
        else:
            traceback.print_exc()
            yield {"error": say("error.run", error=f"{type(error).__name__}: {error}")}


def _cost(watched, request: dict) -> Iterator[dict]:
    cost = yield from _timed(watched, request["seconds"], request["cache_length"], request["draft_vocab"], 1.0)
    yield {"share": 1.0, "cost": cost.model_dump(mode="json")}


def _timed(watched, seconds: float, cache_length: int, draft_vocab: int, whole: float):
    """Times passes, and keeps the curve, which it returns; `whole` is how much of all is done then."""
    from core.measure.cost import save_cost
    from core.measure.timing import timed

    cost = None
    with closing(watched.look_up(timed(watched.pair, seconds, cache_length, draft_vocab=draft_vocab))) as heard:
        for news in heard:
            if news is None:
                yield {}
                continue
            share, cost = news
            yield {"share": share * whole, "note": say("timing", name=watched.pair.name)} | (
                {"cost": cost.model_dump(mode="json")} if cost and whole == 1 else {})
    with suppress(UserError):  # it is told all the same
        save_cost(cost)
    return cost


def _sweep(watched, request: dict) -> Iterator[dict]:
    from core.measure.cost import load_cost
    from core.measure.grid import grid
    from core.measure.sweep import begin, go_on
    from core.model.threads import threads_for
    from core.pairs.chat import encode

    pair, start, began = watched.pair, time.monotonic(), 0.0
    about = pair.describe()
    cost = load_cost(pair.name, device=about["device"], dtype=about["dtype"], draft_vocab=request["draft_vocab"],
                     threads=threads_for(pair.target.model))
    if cost is None:
        began = 0.1
        cost = yield from _timed(watched, CURVE, 128, request["draft_vocab"], began)
    ids = [encode(pair, prompt, request["chat"]) for prompt in request["prompts"]]
    sweep = begin(pair, ids, grid(*request["grid"]), cost, request["max_new_tokens"])
    steps = go_on(pair, sweep, request["best"], request["turns"])
    with closing(watched.look_up(steps)) as heard:
        for step in heard:
            if time.monotonic() - start > request["seconds"]:
                break
            yield {} if step is None else {"share": began + (1 - began) * step.share, "note": _told(step, request)}
    document = sweep.to_dict()
    yield {"share": 1.0, "sweep": {name: document[name] for name in document if name not in ("prompts", "cost")}}


def _told(step, request: dict) -> dict:
    n, most = step.prompt + 1, len(request["prompts"])
    if step.turn is None:
        return say("sweep.recording", n=n, most=most)
    what = say("sweep.plain") if step.shape is None else "top_k {}, depth {}, total_tokens {}".format(*step.shape)
    return say("sweep.running", turn=step.turn + 1, turns=request["turns"], n=n, most=most, what=what)


MEASUREMENTS = {"cost": _cost, "sweep": _sweep}
