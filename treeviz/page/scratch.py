"""The temporary files of a running page: a folder of its own, kept small, and gone when the program ends.

Strangers write into it (a trace that is opened is uploaded first, and not every upload is finished or opened), so nothing
in it stays for long. Knows nothing of pages: gradio finds the folder by an environment variable.
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from core.errors import UserError

VARIABLE = "GRADIO_TEMP_DIR"
PREFIX = "treeviz-"
LONGEST = 600          # seconds that a file stays after it was last written to; a trace is read as soon as it is there
MOST_FILES = 100
MOST_BYTES = 512 << 20
DAY = 86_400


class Scratch:
    """A new folder in the system's temporary one, or in the one that GRADIO_TEMP_DIR names; `files` is what may be
    written to. Raises UserError where there is no place for it."""

    def __init__(self):
        try:
            parent = os.environ.get(VARIABLE) or tempfile.gettempdir()
            self.home = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)).resolve()
        except OSError as error:
            raise UserError(f"No temporary files can be written ({error.strerror or error}); set TMPDIR to a folder of "
                            "yours.") from None
        self.files = self.home / "files"
        self.files.mkdir()
        self._lock = FileLock(self.home / "lock")  # says that we are alive, to those who look for what the dead left
        self._lock.acquire()
        self._owner = os.getpid()

    def sweep(self) -> int:
        """Remove what is old, then the oldest while there is too much. Returns the bytes of what is left."""
        found, used, now = [], 0, time.time()
        for place, folders, files in os.walk(self.files):  # which passes over what is gone meanwhile
            for path in (Path(place, name) for name in files):
                with suppress(OSError):
                    status = path.lstat()
                    found.append((status.st_mtime, status.st_size, path))
                    used += status.st_size
            for path in (Path(place, name) for name in folders):
                with suppress(OSError):  # one that is not empty
                    if now - path.lstat().st_mtime > 5:  # a younger one may be about to get its file
                        path.rmdir()
        left = len(found)
        for written, size, path in sorted(found):
            if now - written < LONGEST and left <= MOST_FILES and used <= MOST_BYTES:
                break
            with suppress(OSError):
                path.unlink()
                used, left = used - size, left - 1
        return used

    def close(self) -> None:
        if os.getpid() == self._owner:  # a forked process has no say in it
            self._lock.release()
            shutil.rmtree(self.home, ignore_errors=True)


def clear_leftovers(parent: Path) -> None:
    """Remove the folders of programs that were killed before they could do so themselves."""
    for home in parent.glob(f"{PREFIX}*"):
        with suppress(OSError, Timeout, NotImplementedError):
            status = home.lstat()
            ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
            if not ours or home.is_symlink() or not home.is_dir():
                continue
            if (home / "lock").exists():
                with FileLock(home / "lock", timeout=0):  # of a living one it cannot be had
                    shutil.rmtree(home, ignore_errors=True)
            elif time.time() - status.st_mtime > DAY:  # without one, a program may be about to make it
                shutil.rmtree(home, ignore_errors=True)


@contextmanager
def scratch() -> Iterator[Scratch]:
    """A Scratch that gradio uses, swept every minute, and gone at the end of the block or by a signal that ends the
    program. To be entered before gradio is imported. Raises UserError."""
    mine, before, ended = Scratch(), os.environ.get(VARIABLE), threading.Event()
    clear_leftovers(mine.home.parent)
    os.environ[VARIABLE] = str(mine.files)

    def keep_small():
        while not ended.wait(60):
            mine.sweep()

    threading.Thread(target=keep_small, daemon=True).start()
    try:
        with _closed_by_signals(mine):
            yield mine
    finally:
        ended.set()
        mine.close()
        os.environ.pop(VARIABLE) if before is None else os.environ.update({VARIABLE: before})


@contextmanager
def _closed_by_signals(mine: Scratch) -> Iterator[None]:
    """What a terminal that closes and a machine that stops send would end the program without a last word."""

    def end(number, _):
        mine.close()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    names = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        names = []  # signals are the main thread's
    old = {number: signal.signal(number, end) for number in names if signal.getsignal(number) == signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
