"""Fetching one file over HTTP into our cache: resumed after an interruption, checked by its hash, never half there."""

from __future__ import annotations

import base64
import errno
import hashlib
import http.client
import os
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from ..errors import UserError

Progress = Callable[[str, float | None], None]  # a line for the person waiting, and how far it is (0..1) if known

CHUNK = 1 << 20
TIMEOUT = 30  # seconds without a byte


class FetchError(UserError):
    """A file that could not be had; the message is one sentence that says what to do."""


def silent(message: str, fraction: float | None = None) -> None:
    """Progress for nobody."""


def cache_dir() -> Path:
    """Where fetched and converted weights are kept: $TREEVIZ_CACHE, else treeviz/ in the user's cache folder."""
    base = os.environ.get("TREEVIZ_CACHE")
    return Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "treeviz"


def offline() -> bool:
    """Does the person want no lookups at all? The model hub's own variable says so, for us too."""
    return os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")


def disk_error(error: OSError, path: Path) -> FetchError:
    """What went wrong while writing below `path`, as a sentence."""
    if error.errno == errno.ENOSPC:
        return FetchError(f"The disk that holds {path} is full; free some space, or set TREEVIZ_CACHE to a folder elsewhere.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return FetchError(f"{path} cannot be written; set TREEVIZ_CACHE to a folder of yours.")
    return FetchError(f"Writing below {path} failed ({error.strerror or error}); try again, or set TREEVIZ_CACHE to a "
                      "folder elsewhere.")


def public(url: str) -> str:
    """The address without a name and password in it."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if "@" in parts.netloc else url


def get(url: str, accept: str = "*/*", start: int = 0):
    """An open response; with `start`, one that begins at that byte where the server can. Raises FetchError.

    A name and password in the address (private package indexes have them) are sent to that host and shown to nobody.
    """
    headers = {"Accept": accept, "User-Agent": "treeviz"} | ({"Range": f"bytes={start}-"} if start else {})
    given = url
    try:
        url = public(given)
        request = urllib.request.Request(url, headers=headers)
        if given != url:
            parts = urlsplit(given)
            secret = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()
            request.add_unredirected_header("Authorization", f"Basic {base64.b64encode(secret).decode()}")
        return urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:  # nothing is there from that byte on: what we have is not this file's beginning
            return get(given, accept)
        raise FetchError(f"{url} answers {error.code} {error.reason}; check the address, or try again later.") from None
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise FetchError(f"{url} cannot be reached ({reason}); check the connection and try again.") from None


def download(url: str, path: Path, sha256: str, progress: Progress = silent) -> Path:
    """Fetch `url` to `path`, going on where an interrupted try stopped. Raises FetchError.

    The bytes arrive in `path`.part, which becomes `path` only when its SHA-256 is right.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        have = part.stat().st_size if part.exists() else 0
        with get(url, start=have) as response:
            if response.status != 206:
                have = 0  # the server starts over
            total = have + int(response.headers.get("Content-Length") or 0)
            with open(part, "ab" if have else "wb") as file:
                while chunk := response.read(CHUNK):
                    file.write(chunk)
                    have += len(chunk)
                    if total:
                        progress(f"Fetching {path.name}: {have / 1e6:.0f} of {total / 1e6:.0f} MB", min(have / total, 1.0))
        if total and have < total:
            raise FetchError(f"The connection broke at {have / 1e6:.0f} MB of {path.name}; run again to go on from there.")
        progress(f"Checking {path.name}", None)
        with open(part, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != sha256:
            part.unlink()
            raise FetchError(f"{path.name} arrived with the wrong SHA-256 ({digest[:12]}..., expected {sha256[:12]}...) and "
                             "was deleted; run again, and if it persists do not trust the source.")
        os.replace(part, path)
        return path
    except (http.client.HTTPException, TimeoutError, ConnectionError, ssl.SSLError):
        raise FetchError(f"The connection broke while fetching {path.name}; run again to go on from there.") from None
    except OSError as error:
        raise disk_error(error, path.parent) from None
