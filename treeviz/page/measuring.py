"""The endpoints `/cost` and `/sweep`: measured on demand with progress, for the page and for anybody's program.

Each streams what it has to say: {"share", "said"} as it goes on, its place in the line among it, and with the last the
result. Who closes the stream stops it. Bounded in time, as runs are in length; a page of recorded runs refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import gradio as gr

from core.measure.cost import load_cost

from ..story.language import ENGLISH, LANGUAGES
from ..story.phrases import refusal, said_by, say
from .choices import BOUNDS, LONGEST_RUN, number_of, prompt_of, shown
from .runs import Pace, Runs
from .space import visitor

SECONDS = {"cost": (60, 20), "sweep": (300, 60)}  # that one may take: on one's own machine, where strangers come too
CACHE_LENGTH = (1, 2048)
VALUES = 12        # of each setting in a sweep's grid
PROMPTS = 4
NEW_TOKENS = (8, 128)  # of each of its runs
BEST, TURNS = (1, 4), (1, 5)
TOP_K, DEPTH, TOTAL_TOKENS = [1, 2, 4, 8, 10], [0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 59]


def wire_measuring(engine, runs: Runs) -> None:
    """engine: a `live.Engine`, or None where only recorded runs are shown."""

    def cost(request: gr.Request, pair: str = "", seconds: float = 10, cache_length: int = 128, draft_vocab: int = 0,
             language: str = ENGLISH) -> dict:
        """What a pass of the target, and of the head, costs by its rows on this machine: times passes for so many
        seconds and gives the JSON of the README; with 0 seconds only what was measured before, or null."""
        def asked() -> dict:
            return {"what": "cost", "pair": engine.offered(pair), "seconds": _seconds(engine, "cost", seconds),
                    "cache_length": number_of("cache_length", cache_length, *CACHE_LENGTH),
                    "draft_vocab": number_of("draft_vocab", draft_vocab, *BOUNDS["draft_vocab"])}

        if engine and seconds == 0 and not isinstance(seconds, bool) and isinstance(pair, str):
            known = load_cost(pair or engine.source.name)
            yield {"share": 1.0, "said": "", "cost": known.model_dump(mode="json") if known else None}
            return
        yield from _told(engine, runs, request, asked, language)

    def sweep(request: gr.Request, prompts: list, chat: bool = True, pair: str = "", top_k: list = TOP_K,
              depth: list = DEPTH, total_tokens: list = TOTAL_TOKENS, max_new_tokens: int = 48, draft_vocab: int = 0,
              best: int = 2, turns: int = 2, seconds: float = 60, language: str = ENGLISH) -> dict:
        """Which settings suit a pair here: a grid of them on these prompts, estimated from one run of each; the best
        few are really run, in turns with plain decoding. Gives the JSON of the README without its prompts and curve;
        where the seconds are over, what is known by then."""
        def asked() -> dict:
            return {"what": "sweep", "pair": engine.offered(pair), **_texts(prompts, chat),
                    "grid": [_values(name, values) for name, values in (("top_k", top_k), ("depth", depth),
                                                                        ("total_tokens", total_tokens))],
                    "max_new_tokens": number_of("max_new_tokens", max_new_tokens, *NEW_TOKENS),
                    "draft_vocab": number_of("draft_vocab", draft_vocab, *BOUNDS["draft_vocab"]),
                    "best": number_of("best", best, *BEST), "turns": number_of("turns", turns, *TURNS),
                    "seconds": _seconds(engine, "sweep", seconds)}

        yield from _told(engine, runs, request, asked, language)

    for endpoint in (cost, sweep):
        gr.api(endpoint, api_name=endpoint.__name__, concurrency_limit=None)


def _seconds(engine, what: str, seconds: object) -> float:
    alone, beside_strangers = SECONDS[what]
    return number_of("seconds", seconds, 0, alone if engine.source.longest == LONGEST_RUN[True] else beside_strangers)


def _texts(prompts: object, chat: object) -> dict:
    if not isinstance(prompts, list) or not 1 <= len(prompts) <= PROMPTS:
        raise refusal(say("error.prompts", most=PROMPTS))
    return {"prompts": [prompt_of(prompt, chat)["prompt"] for prompt in prompts], "chat": chat}


def _values(name: str, values: object) -> list[int]:
    if not isinstance(values, list) or not 1 <= len(values) <= VALUES:
        raise refusal(say("error.grid", name=name, value=shown(values), most=VALUES))
    return [number_of(name, value, *BOUNDS[name]) for value in values]


def _told(engine, runs: Runs, request: gr.Request, asked: Callable[[], dict], language: str) -> Iterator[dict]:
    """A measurement in its turn, in a language: what it says, about once a second, and its result. Raises gr.Error."""
    language = language if isinstance(language, str) and language in LANGUAGES else ENGLISH
    try:
        if engine is None:
            raise refusal(say("error.demo"))
        wanted = asked()
        run = runs.begin(request.session_hash, visitor(request), anew=False)
    except ValueError as error:
        raise gr.Error(said_by(error, "error.decoder")[language], print_exception=False) from None
    pace, share = Pace(), 0.0
    try:
        for ahead, length in runs.wait(run):
            place = say("ahead", n=ahead, length=length)
            if ahead and pace.new(place):
                yield {"share": 0.0, "said": place[language]}
        with closing(engine.measure(wanted, run.over)) as parts:
            for part in parts:
                share = part.get("share", share)
                result = {name: part[name] for name in ("cost", "sweep") if name in part}
                if "note" not in part and result:  # the last
                    yield {"share": 1.0, "said": say("done")[language]} | result
                elif "note" in part and pace.new(part["note"] | {"share": str(share)}):
                    yield {"share": share, "said": part["note"][language]} | result
    except ValueError as error:
        raise gr.Error(said_by(error, "error.decoder")[language], print_exception=False) from None
    finally:
        runs.finish(run)
