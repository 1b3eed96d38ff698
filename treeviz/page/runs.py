"""The runs that visitors ask for, as the server's own objects: who may decode and when, and what has been decoded.

A client names only what is its own: its session, and the runs whose unguessable names it was told. Knows sessions and
addresses as words; no pages, no models, no HTTP.
"""

from __future__ import annotations

import secrets
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..story.phrases import Said, refusal, say

LINE = 16            # runs that may wait at once
PER_ADDRESS = 4      # of them, from one network address
PULSE = 0.25         # seconds after which a waiting run looks up
COMING = 5           # seconds that a run waits for somebody to listen to it
GONE = 1             # seconds without a listener, once there was one, after which a run ends
KEPT = 64 << 20      # bytes of finished runs, compressed, that are kept; the last one always is
KEPT_RUNS = 200
KEPT_SECONDS = 3600

Silence = Callable[[str], float | None]  # session -> seconds since its last listener left; 0 while one is there


def nobody_asks(session: str) -> float:
    """Where no server watches its connections, everybody counts as listening."""
    return 0.0


@dataclass(eq=False)
class Run:
    """One run: whose it is, whether it should end, and the page lines it has so far. Made by `Runs`."""

    session: str
    address: str
    silence: Silence = nobody_asks
    name: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    born: float = field(default_factory=time.monotonic)
    replaced: bool = False   # its own visitor has asked for another one
    done: bool = False
    whole: bool = False      # it had ended before it came here
    size: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _lines: list[bytes] = field(default_factory=list)

    def stop(self) -> None:
        self._stop.set()

    def over(self) -> bool:
        """Should it end, since it was stopped or nobody listens any more?"""
        if not self._stop.is_set():
            silent, age = self.silence(self.session), time.monotonic() - self.born
            waited_for = silent is None or silent > age  # whoever left before it began was another run's listener
            if age > COMING if waited_for else silent > GONE:
                self._stop.set()
        return self._stop.is_set()

    def pause(self) -> bool:
        """Wait for a moment, less where it is stopped; then as `over`."""
        self._stop.wait(PULSE)
        return self.over()

    def add(self, lines: str) -> None:
        """One more line, or several, as the page reads them. They end at \\n only: a text may hold other ends of lines."""
        for line in lines.split("\n")[:-1]:
            packed = zlib.compress(line.encode() + b"\n", 1)
            self._lines.append(packed)
            self.size += len(packed)

    @property
    def count(self) -> int:
        return len(self._lines)

    def lines(self, start: int = 0) -> Iterator[str]:
        """The lines that are there now, from one of them on."""
        for packed in self._lines[start:]:
            yield zlib.decompress(packed).decode()


def whole(lines: str, address: str = "") -> Run:
    """A run that was decoded elsewhere."""
    run = Run("", address, done=True)
    run.add(lines)
    return run


class Runs:
    """The line for the one model, and the runs that were decoded last.

    Each session has one place, each address a few, and of the addresses that wait the one that was served longest ago
    is next: whoever asks for much waits longest.
    """

    def __init__(self, silence: Silence = nobody_asks):
        self.silence = silence
        self._lock = threading.Lock()
        self._running: Run | None = None
        self._waiting: list[Run] = []
        self._served: Counter[str] = Counter()  # address -> the number of the turn that it had last
        self._kept: dict[str, Run] = {}         # oldest first
        self._turns = 0

    # -- the line ------------------------------------------------------------------------------------------------------

    def begin(self, session: str, address: str, anew: bool = True) -> Run:
        """A new run at the end of the line. `anew`: it ends the run that the session has; else that one stays, and the
        new one is refused. Raises UserError, a sentence, where there is no place for it."""
        with self._lock:
            own = [run for run in self._present() if run.session == session and not run.replaced]
            if own and not anew:
                raise refusal(say("error.one"))
            others = [run for run in self._waiting if run not in own and not run.over()]
            if len(others) >= LINE:
                raise refusal(say("error.line", n=LINE))
            if sum(run.address == address for run in others) >= PER_ADDRESS:
                raise refusal(say("error.address", n=PER_ADDRESS))
            for run in own:
                run.replaced = True
                run.stop()
            run = Run(session, address, self.silence)
            self._waiting.append(run)
            return run

    def wait(self, run: Run) -> Iterator[tuple[int, int]]:
        """Stand in the line: yields its place and the line's length, again and again, and ends when its turn has come
        or it is over. `finish` leaves the line."""
        while not run.over():
            with self._lock:
                if run not in self._waiting:
                    return
                order = self._order()
                if self._running is None and (not order or order[0] is run):
                    self._waiting.remove(run)
                    self._running = run
                    self._turns += 1
                    self._served[run.address] = self._turns
                    return
                ahead = order.index(run) + (self._running is not None and not self._running.replaced)
                length = len(order) + (self._running is not None)
            yield ahead, length
            run.pause()

    def finish(self, run: Run) -> None:
        """It has ended, or will not begin. What it has decoded is kept for a while."""
        with self._lock:
            run.done = True
            if run in self._waiting:
                self._waiting.remove(run)
            if run is self._running:
                self._running = None
            for address in set(self._served) - {run.address for run in self._waiting}:
                if self._turns - self._served[address] > LINE:  # long ago enough to be nobody's concern
                    del self._served[address]
            if run.count and (run.name in self._kept or not run.whole):
                self._keep(run)

    def stop(self, session: str) -> None:
        """End the session's runs: those it has, and those it waits for."""
        with self._lock:
            for run in self._present():
                if run.session == session:
                    run.stop()

    def _present(self) -> list[Run]:
        return [*self._waiting, *([self._running] if self._running else [])]

    def _order(self) -> list[Run]:
        """The waiting runs, those that are over left out, as their turns will come."""
        left, served, order, turn = [run for run in self._waiting if not run.over()], self._served.copy(), [], self._turns
        while left:
            order.append(min(left, key=lambda run: served[run.address]))  # of equals the first
            left.remove(order[-1])
            turn += 1
            served[order[-1].address] = turn
        return order

    # -- what was decoded ----------------------------------------------------------------------------------------------

    def found(self, name: str) -> Run | None:
        """The run of that name: one that is decoding, or one of the last."""
        with self._lock:
            return next((run for run in self._present() if run.name == name), self._kept.get(name))

    @contextmanager
    def brought(self, address: str) -> Iterator[Run]:
        """A run that somebody brought, whole: its lines are added in the block."""
        run = Run("", address, whole=True)
        with self._lock:
            self._keep(run)
        try:
            yield run
        except BaseException:
            with self._lock:
                self._kept.pop(run.name, None)
            raise
        finally:
            self.finish(run)

    def _keep(self, run: Run) -> None:
        """Of what is too much the oldest goes, of the address that keeps the most: nobody drives out what others have."""
        self._kept[run.name] = run
        long_ago = time.monotonic() - KEPT_SECONDS
        others = [kept for kept in self._kept.values() if kept is not run]
        while others and (self._too_much() or others[0].born < long_ago):
            held = Counter()
            for kept in self._kept.values():
                held[kept.address] += kept.size + KEPT // KEPT_RUNS  # many small ones are much, too
            most = max(held, key=held.get)
            gone = others[0] if others[0].born < long_ago else next((kept for kept in others if kept.address == most), others[0])
            others.remove(gone)
            del self._kept[gone.name]

    def _too_much(self) -> bool:
        return len(self._kept) > KEPT_RUNS or sum(kept.size for kept in self._kept.values()) > KEPT


class Pace:
    """How often a waiting person is told something: once a second, for each note makes the browser look at the page."""

    def __init__(self):
        self._next, self._note = 0.0, None

    def new(self, note: Said) -> bool:
        now = time.monotonic()
        if note == self._note or now < self._next:
            return False
        self._note, self._next = note, now + 1
        return True
