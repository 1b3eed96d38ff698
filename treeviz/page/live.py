"""Live decoding for the page: pairs loaded on first use, and runs that can be stopped between two layers of the target.

The only part of the viewer that reaches for the decoder; torch comes in when the first run starts, not before.
A run is asked for and told in plain data (`choices.request_of`, `Engine._parts`), for on ZeroGPU it happens in another
process.
"""

from __future__ import annotations

import gc
import queue
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

from core.config import DecodeConfig
from core.pairs.named import PAIRS
from core.trace import TokenText, Trace
from core.trace.events import CacheCommitted, PlainDecoded, RootDecided, RunChecked, RunFinished, TraceBuilder

from ..story.labels import show
from ..story.lines import PageLines
from ..story.phrases import Said, refusal, said_by, say
from . import measured, space
from .choices import Source, pairs_on_offer, shown
from .runs import PULSE
from .watched import Watched

KEPT = 2      # pairs in memory, the last ones used; one that wants a GPU is alone
KINDS = {CacheCommitted: {"round": True}, RunFinished: {"end": True}}


@dataclass(frozen=True, slots=True)
class Update:
    """What a run has to say: a line for the person waiting, or more page lines."""

    note: Said | None = None
    lines: str = ""


class Engine:
    """Holds the pairs used last and decodes with them. One run at a time is the caller's business (`runs.py`)."""

    def __init__(self, source: Source):
        self.source = source
        self._pairs: OrderedDict[str, Watched] = OrderedDict()
        self._lock = threading.Lock()

        def parts(request: dict) -> Iterator[dict]:
            if "what" in request:
                yield from measured.parts(self._pairs[request["pair"]], request)
            else:
                yield from self._parts(request)

        self._decode = space.on_gpu(parts)
        for name in pairs_on_offer(source) if space.zero() else ():  # there, models are placed before the first request
            self._ensure(name, lambda message, _=None: print(message))

    def loaded(self, name: str) -> bool:
        return name in self._pairs

    def notes(self, name: str) -> str:
        """What should be known of a pair that is loaded, as sentences, or ""."""
        return " ".join(self._pairs[name].pair.notes) if self.loaded(name) else ""

    def offered(self, name: str) -> str:
        """The name of a pair to load, the page's own where it is "". Raises UserError for one that is not on offer."""
        on_offer = pairs_on_offer(self.source)
        if name != "" and name not in on_offer:
            raise refusal(say("error.pair", name=shown(name), pairs=", ".join(on_offer)))
        return name or self.source.name

    def run(self, request: dict, over: Callable[[], bool]) -> Iterator[Update]:
        """Decode, yielding an Update per finished round, the first one with the header. Raises UserError, a sentence for
        the page.

        Where `over()` says so, the run ends at once or nearly so, and its trace says `cancelled`. A run that breaks off
        after its first round yields what it has, then raises.
        """
        page, told, held, error, rounds, ended = PageLines(), [], "", None, 0, False
        for note in self.load(request["pair"]):
            if over():
                return  # the loading goes on, and serves the next run
            if note:
                yield Update(note)
        with closing(self._decode(request)) as parts:
            for part in parts:
                if "note" in part:
                    yield Update(part["note"])
                if "line" in part:
                    told.append(part["line"])
                    held += page.add(part["line"])
                    rounds, ended = rounds + ("round" in part), "end" in part
                    if rounds or ended:
                        yield Update(lines=held)
                        held = ""
                if "plain" in part:
                    yield Update(lines=page.plain(part["plain"]))
                error = part.get("error")
                if over():
                    break
        if rounds and not ended:
            yield Update(lines=page.add(Trace.from_text("".join(told)).to_lines().rstrip("\n").rpartition("\n")[2]))
        if error:
            raise refusal(error)

    def measure(self, request: dict, over: Callable[[], bool]) -> Iterator[dict]:
        """What a measurement tells (`measured.py`), and {"note"} while its pair is loaded. Raises UserError. Ends where
        `over()` says so."""
        for note in self.load(request["pair"]):
            if over():
                return
            yield {"note": note} if note else {}
        with closing(self._decode(request)) as parts:
            for part in parts:
                if "error" in part:
                    raise refusal(part["error"])
                yield part
                if over():
                    return

    def trace(self, request: dict, over: Callable[[], bool]) -> dict:
        """A whole run as the trace document. Raises UserError."""
        for _ in self.load(request["pair"]):
            if over():
                raise refusal(say("error.gone"))
        told = ""
        with closing(self._decode(request)) as parts:
            for part in parts:
                if "error" in part:
                    raise refusal(part["error"])
                told += part.get("line", "")
                if over():
                    raise refusal(say("error.gone"))
        return Trace.from_text(told).to_dict()

    def load(self, name: str) -> Iterator[Said | None]:
        """Load a pair in a thread of its own, telling how it goes; None when there is nothing new to tell."""
        if self.loaded(name):
            self._pairs.move_to_end(name)
            return
        notes: queue.Queue[Said | None] = queue.Queue()
        failure: list[Exception] = []

        def tell(note: str, share: float | None = None):
            key = "loading.note" if share is None else "loading.share"
            notes.put(say(key, note=note, share=round(100 * (share or 0))))

        def work():
            try:
                self._ensure(name, tell)
            except Exception as error:  # handed to the waiting run below, whatever it is
                failure.append(error)
            finally:
                notes.put(None)

        yield say("loading", name=name)
        threading.Thread(target=work, daemon=True).start()
        while True:
            try:
                note = notes.get(timeout=PULSE)
            except queue.Empty:
                yield None
                continue
            if note is None:
                break
            yield note
        if failure:
            if isinstance(failure[0], ValueError):
                raise failure[0]
            raise refusal(say("error.load", name=name, error=failure[0])) from failure[0]

    def _ensure(self, name: str, progress) -> None:
        with self._lock:
            if not self.loaded(name):
                self._make_room(name)
                self._pairs[name] = Watched(self._fetch(name, progress))

    def _make_room(self, name: str) -> None:
        large = any(n in PAIRS and PAIRS[n].gpu for n in (name, *self._pairs))
        while len(self._pairs) >= (1 if large else KEPT):
            self._pairs.popitem(last=False)
        gc.collect()

    def _fetch(self, name: str, progress):
        from core import load_named, load_pair
        source, own = self.source, name == self.source.name
        if own and source.target:
            progress(f"Loading {name}")
            pair = load_pair(source.target, source.draft, source.device, target_embedding=source.target_embedding)
        else:
            pair = load_named(name, source.device, progress=progress, target_embedding=source.target_embedding)
        if own and source.chat_template:
            from core.pairs.chat import choose_template
            choose_template(pair, source.chat_template)
        return pair

    def _parts(self, request: dict) -> Iterator[dict]:
        """A run as plain data, in order: {"line"} of its trace, with "round" or "end" where it is one; {"note"} for the
        person waiting; {"plain"}, the moments of plain decoding's next tokens; {"error"}, a sentence, at the end; {} where
        nothing is new, so that the run may be closed."""
        from core import stream
        from core.model.steps import memory_for
        from core.model.target import passes_of
        from core.pairs.chat import encode

        builder, watched = TraceBuilder(), self._pairs[request["pair"]]
        try:
            ids = encode(watched.pair, request["prompt"], request["chat"])
            config = DecodeConfig.from_dict(request["config"])
            events = stream(watched.pair, ids, config, request["prompt"])
            tokens = say("tokens", n=len(ids))
            yield {"note": say("reading", tokens=tokens)}
            with memory_for(watched.pair, ids, config), closing(watched.look_up(events, passes_of(len(ids)))) as heard:
                for event in heard:
                    if event is None:
                        share = heard.share
                        yield {} if share is None else {"note": say("reading.share", tokens=tokens, share=round(100 * share))}
                    elif line := builder.add(event):
                        yield {"line": line} | KINDS.get(type(event), {})
                    elif isinstance(event, RootDecided):  # out already, while the first tree is still being drafted
                        word = builder.document["vocabulary"][str(event.token_ids[0])]
                        yield {"note": say("begun", token=show(TokenText.model_validate(word)))}
            if request["compare"] and config.greedy:
                yield from _compared(watched, ids, config, builder)
        except Exception as error:
            if builder.document.get("rounds") and "output" not in builder.document:
                yield {"line": builder.cancel(), "end": True}
            if isinstance(error, ValueError):  # every error of the decoder is a sentence
                yield {"error": said_by(error, "error.decoder")}
            else:
                traceback.print_exc()
                yield {"error": say("error.run", error=f"{type(error).__name__}: {error}")}


def _compared(watched: Watched, ids: list[int], config: DecodeConfig, builder: TraceBuilder) -> Iterator[dict]:
    """Plain decoding of the run that `builder` holds, as parts of it."""
    from core.measure.check import comparing

    emitted, clock, told = builder.document["output"]["token_ids"], [], time.monotonic()
    with closing(watched.look_up(comparing(watched.pair, ids, config, emitted))) as heard:
        for event in heard:
            if isinstance(event, PlainDecoded):
                clock.append(event.seconds)
                place = event.place
            if clock and (time.monotonic() - told > PULSE or isinstance(event, RunChecked)):  # not a line for each token
                yield {"plain": clock, "note": say("comparing", n=place + 1, length=len(emitted))}
                clock, told = [], time.monotonic()
            yield {"line": builder.add(event)} if isinstance(event, RunChecked) else {}
