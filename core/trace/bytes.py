"""The bytes of a trace file, made text within limits: unpacked whole, however many members the gzip has.

A file may come from anywhere, so nothing here grows without a bound. Knows nothing of what the text means.
"""

from __future__ import annotations

import os
import zlib
from codecs import getincrementaldecoder

from .lines import TraceError

MAX_BYTES = 256 * 2**20  # of unpacked text; a longer "trace" is a mistake or an attack
MAX_MEMBERS = 100_000    # of one gzip file; an empty member costs a few bytes, and time
MAX_RATIO, SMALL = 150, 16 * 2**20  # a run that repeats one round packs 120 times; what is short may pack as it likes
PIECE = 2**14            # bytes unpacked at a time: what is left of it at a member's end is copied
GZIP = b"\x1f\x8b"


def read_text(path: str | os.PathLike) -> str:
    """The text of a file, packed or not. Raises TraceError, also for a missing file."""
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise TraceError(f"Cannot read {path}: {error.strerror or error}.") from None
    except ValueError:  # a NUL in the name
        raise TraceError(f"Cannot read {str(path)!r}: no file has such a name; give another.") from None
    if len(raw) > MAX_BYTES:
        raise _too_long(path)
    if raw.startswith(GZIP):
        raw = _unpack(raw, path)
    decoder = getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(raw)
    except UnicodeDecodeError:
        raise TraceError(f"{path} is not UTF-8 text, so not an EAGLE-2 trace.") from None
    return text + "\ufffd" * bool(decoder.getstate()[0])  # cut inside a character: as good as cut behind it


def _unpack(raw: bytes, path) -> bytes:
    """All members of a gzip file, one after the other (RFC 1952, 2.2). Padding with zeros may follow them."""
    unpacked, view, start, members = bytearray(), memoryview(raw), 0, 0
    while start < len(raw) and (rest := raw[start:start + 2]) != b"\0\0"[:len(rest)]:
        if not GZIP.startswith(rest):
            raise TraceError(f"{path} goes on after its gzip stream with bytes that are none; copy or pack it again.")
        members += 1
        if members > MAX_MEMBERS:
            raise TraceError(f"{path} has more than {MAX_MEMBERS:,} gzip members; unpack it, and pack it as one.")
        start = _member(view, start, unpacked, path)
    if raw[start:].strip(b"\0"):
        raise TraceError(f"{path} goes on after its gzip stream with bytes that are none; copy or pack it again.")
    return bytes(unpacked)


def _member(view: memoryview, start: int, unpacked: bytearray, path) -> int:
    """Append what one member holds; returns where it ends."""
    unpacker = zlib.decompressobj(wbits=31)
    while not unpacker.eof:
        piece = unpacker.unconsumed_tail or view[start:start + PIECE]
        if not piece:
            raise TraceError(f"{path} is cut short: its gzip stream does not end; copy the file again.")
        start += 0 if unpacker.unconsumed_tail else len(piece)
        try:
            unpacked += unpacker.decompress(piece, 2**20)
        except zlib.error as error:
            raise TraceError(f"{path} is not a readable gzip file ({error}); copy it again.") from None
        if len(unpacked) > MAX_BYTES:
            raise _too_long(path)
        if len(unpacked) > SMALL and len(unpacked) > MAX_RATIO * start:
            raise TraceError(f"{path} unpacks to more than {MAX_RATIO} times its size; no trace does, so it is not read.")
    return start - len(unpacker.unused_data)


def _too_long(path) -> TraceError:
    return TraceError(f"{path} holds more than {MAX_BYTES // 2**20} MiB; no trace is that long.")
