"""Where a checkpoint lies: a directory, the model hub's cache, or the hub.

Only the files at a repository's root are asked for; what lies in folders beside them (`original/`, `checkpoint-500/`)
is another model or the same once more. What the cache lacks is no matter, if what is loaded is there.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from ..common.files import WEIGHTS, CheckpointError, hub_id, weight_files
from .fetch import offline

SMALL = ("*.json", "*.model", "*.jinja", "*.txt")


def find(source: str | os.PathLike, what: str, weights: bool = True) -> Path:
    """A directory as it is, or the snapshot in it where it is one of the hub's cache; a hub id from the hub's local
    cache or the hub, whole or all but the weights. what: "target" or "head". Raises CheckpointError."""
    text = os.path.expanduser(source)
    path = Path(text)
    if path.is_dir():
        return _snapshot_in(path)
    if os.path.lexists(path):
        kind = "a file; give the directory that holds it" if path.exists() else \
            f"a link to {os.readlink(path)}, where nothing is; give a directory"
        raise CheckpointError(f"The {what} {text} is {kind}.")
    _check_id(text, what)
    try:
        found = snapshot(text, (*SMALL, "*.safetensors") if weights else SMALL)
        if weights and not any(os.path.lexists(found / f"{WEIGHTS[0]}{end}") for end in ("", ".index.json")):
            return snapshot(text, (*SMALL, "*.bin"))  # pickles only if they must be: many repositories hold both
        return found
    except Exception as error:  # of the hub, of HTTP, of the disk: there are many kinds
        raise _hub_error(text, error) from None


def snapshot(name: str, patterns: tuple[str, ...], **how) -> Path:
    """The files at the root of a hub repository that match, fetched where they are not in the cache: the folder that
    holds them. Without a hub, what the cache has. Raises whatever the hub's library does."""
    import huggingface_hub
    try:
        return Path(huggingface_hub.snapshot_download(name, allow_patterns=[*patterns], ignore_patterns=["*/*"], **how))
    except huggingface_hub.errors.IncompleteSnapshotError:  # it misses some file; whether a needed one, we shall see
        cached = _cached(name)
        if cached is None:
            raise
        return cached


def in_cache(name: str) -> bool:
    """Is all that is loaded of a hub repository in the hub's cache?"""
    cached = _cached(name)
    try:
        return cached is not None and bool(weight_files(cached, "model"))
    except CheckpointError:  # a shard is missing
        return False


def _cached(name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache
    config = try_to_load_from_cache(name, "config.json")
    return Path(config).parent if isinstance(config, str) else None


def _snapshot_in(path: Path) -> Path:
    """The snapshot in a folder of the hub's cache, models--owner--name; any other directory as it is."""
    folder = path.parent if path.name == "snapshots" else path
    if not folder.name.startswith("models--") or not (folder / "snapshots").is_dir():
        return path
    there = {entry.name: entry for entry in (folder / "snapshots").iterdir() if entry.is_dir()}
    main = folder / "refs" / "main"
    chosen = main.read_text(encoding="utf-8").strip() if main.is_file() else ""
    if chosen in there or len(there) == 1:
        return there.get(chosen) or next(iter(there.values()))
    if not there:
        name = hub_id(folder)
        raise CheckpointError(f"{folder} holds no snapshot of {name}; fetch it with `hf download {name}`.")
    raise CheckpointError(f"{folder} holds {len(there)} snapshots and does not say which is the main one; give one of "
                          f"them, {folder / 'snapshots' / min(there)} or another.")


def _check_id(text: str, what: str) -> None:
    """Raises CheckpointError where `text`, no directory, cannot be a hub id either."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id
    address = re.match(r"(?:https?://)?(?:huggingface\.co|hf\.co)/([^/]+/[^/?#]+)", text)
    revision = re.fullmatch(r"([\w.-]+/[\w.-]+)@(\S+)", text)
    if address:
        raise CheckpointError(f"The {what} {text} is an address; give the id alone, {address[1]}.")
    if revision:
        name, version = revision.groups()
        how = f"hf download {name} --revision {version} --local-dir DIR"
        raise CheckpointError(f"The {what} {text} names a version, and ids here are without one: give {name} for the "
                              f"main version; for this one, `{how}` and give DIR.")
    if text.count("/") != 1 or text.startswith((".", "/", "~")):
        raise CheckpointError(f"The {what} directory {text} does not exist; give a directory, or a hub id like "
                              "owner/name.")
    try:
        validate_repo_id(text)
    except HFValidationError:
        wrong = "no blanks" if re.search(r"\s", text) else "letters, digits, \"-\", \"_\" and \".\" only"
        raise CheckpointError(f"The {what} \"{text}\" is neither a directory here nor a hub id, which is owner/name "
                              f"with {wrong}; check how it is spelled.") from None


def _hub_error(name: str, error: Exception) -> CheckpointError:
    """Why `name` could not be had from the hub, as a sentence."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
    if isinstance(error, GatedRepoError):
        return CheckpointError(f"{name} is gated: accept its licence on https://huggingface.co/{name}, then run "
                               "`hf auth login`.")
    if isinstance(error, RepositoryNotFoundError):
        return CheckpointError(f"The hub has no model {name} (or it is private); check the id, or run `hf auth login`.")
    if getattr(error, "errno", None) == errno.ENOSPC:
        return CheckpointError(f"The disk is full while {name} is fetched; free some space, or set HF_HOME to a folder "
                               "elsewhere.")
    if isinstance(error, PermissionError):
        return CheckpointError(f"{error.filename or 'The cache of the hub'} cannot be written; set HF_HOME to a folder "
                               "of yours.")
    if offline():
        return CheckpointError(f"{name} is neither a directory here nor in the hub's cache, and HF_HUB_OFFLINE is set; "
                               "unset it to fetch it, or give a directory.")
    return CheckpointError(f"{name} is neither a directory here nor in the hub's cache, and the hub cannot be reached "
                           f"({type(error).__name__}); connect, or give a directory.")
