"""Training text on disk: shards of token rows, the target's hidden states beside them, and batches of both.

A shard is `NAME.npz` (rows, answers) and, once made, `NAME.features.npy`. Features are large (2 bytes x hidden
size for every token), so they are made once, kept outside any repository, and read through the page cache.
Knows nothing of heads and losses.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ..common.documents import documents, rendered
from ..common.files import quiet_transformers
from ..errors import UserError


@dataclass(slots=True)
class Shard:
    """A block of text.

    rows      [R, T] integer token ids, never padded
    answers   [R, T] bool: a head will be asked to draft this token (the assistant wrote it), so it is trained
    features  [R, T, H] float16: the target's hidden states after its final norm; None if not made yet
    """

    rows: np.ndarray
    answers: np.ndarray
    features: np.ndarray | None = None

    def save(self, path: Path) -> None:
        """The rows' file is written last, each file whole or not at all: a killed writer leaves no half a shard."""
        if self.features is not None:
            _write(features_path(path), lambda file: np.save(file, self.features))
        kind = np.uint16 if self.rows.max(initial=0) < 65536 else np.int32
        _write(path, lambda file: np.savez(file, rows=self.rows.astype(kind), answers=self.answers))

    @classmethod
    def load(cls, path: Path) -> Shard:
        """Features stay on disk until they are read. Raises UserError for a file that is not a shard."""
        try:
            with np.load(path) as file:
                rows, answers = file["rows"].astype(np.int32), file["answers"].astype(bool)
        except (OSError, KeyError, ValueError) as error:
            raise UserError(f"{path} is not a shard of training text ({error}); remove it, and run again.") from None
        beside = features_path(path)
        return cls(rows, answers, np.load(beside, mmap_mode="r") if beside.exists() else None)


def features_path(path: Path) -> Path:
    return path.with_suffix(".features.npy")


def _write(path: Path, write: Callable) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            write(file)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise UserError(f"{path} cannot be written ({error.strerror}); free some space, or give a directory of your "
                        "own.") from None


def shard_paths(directories: list[Path]) -> list[Path]:
    """The shards of these directories in a fixed order, half-written files left out."""
    return sorted(p for d in directories for p in Path(d).glob("*.npz") if not p.name.startswith("."))


@torch.inference_mode()
def add_features(path: Path, model, dtype: torch.dtype, rows_at_once: int = 8, stop=lambda: False) -> None:
    """Run the target over a shard and keep its hidden states beside it (or not, if `stop` says so)."""
    shard, parts = Shard.load(path), []
    body = model.model.to(dtype)
    for at in range(0, len(shard.rows), rows_at_once):
        if stop():
            return
        ids = torch.from_numpy(shard.rows[at : at + rows_at_once].astype(np.int64)).to(model.device)
        parts.append(body(ids, use_cache=False).last_hidden_state.to("cpu", torch.float16).numpy())
    _write(features_path(path), lambda file: np.save(file, np.concatenate(parts)))


def import_text(source: Path, tokenizer, length: int, out: Path, rows_per_shard: int = 256) -> list[Path]:
    """Plain text, or records of text and conversations, -> shards of rows of `length` tokens in `out`.

    Documents follow one another, an end-of-sequence token between them; every token is trained; what does
    not fill a last row is dropped. The first shard, which a training holds out, gets an eighth of a short text.
    Raises UserError for a file with less than two rows of text, or with a record that is none.
    """
    ids: list[int] = []
    for where, document in documents(source):
        text = rendered(document, tokenizer, where)
        if not text:
            continue
        with quiet_transformers():  # a text may well be longer than the target's context: it is cut into rows
            ids += tokenizer(text, add_special_tokens=False)["input_ids"]
        if tokenizer.eos_token_id is not None:
            ids.append(tokenizer.eos_token_id)
    count = len(ids) // length
    if count < 2:
        raise UserError(f"{source} holds {len(ids)} tokens; training wants two rows of {length} or more, one of them held "
                        f"out: give a text of {2 * length} tokens, better a hundred times that, or a smaller --length.")
    rows = np.array(ids[: count * length], np.int32).reshape(count, length)
    first = min(rows_per_shard, max(1, count // 8))
    paths = []
    for number, part in enumerate(np.split(rows, range(first, count, rows_per_shard))):
        paths.append(out / f"text-{number:05d}.npz")
        Shard(part, np.ones(part.shape, bool)).save(paths[-1])
    return paths


@dataclass(slots=True)
class Batch:
    """Rows of equal length, on the device: tokens [B, T] int64, features [B, T, H] float32, scored [B, T] bool."""

    tokens: torch.Tensor
    features: torch.Tensor
    scored: torch.Tensor


class Corpus:
    """Shards with features, cut into batches. The same seed gives the same batches on every process."""

    def __init__(self, paths: list[Path]):
        self.paths = paths
        self.shards = [Shard.load(p) for p in paths]
        without = [p for p, s in zip(paths, self.shards) if s.features is None]
        if without:
            raise UserError(f"{without[0]} has no features; make them first with add_features.")

    @property
    def tokens(self) -> int:
        return sum(s.rows.size for s in self.shards)

    def schedule(self, epoch: int, positions: int, seed: int) -> list[np.ndarray]:
        """One epoch: arrays [B, 2] of (shard, row); B x row length is about `positions`, lengths never mix."""
        draw = np.random.default_rng([seed, epoch])
        batches = []
        lengths = np.array([s.rows.shape[1] for s in self.shards])
        for length in np.unique(lengths):
            members = [(i, r) for i in np.flatnonzero(lengths == length) for r in range(len(self.shards[i].rows))]
            members = np.array(members)[draw.permutation(len(members))]
            size = max(1, positions // int(length))
            batches += [members[at : at + size] for at in range(0, len(members), size)]
        return [batches[i] for i in draw.permutation(len(batches))]

    def load(self, members: np.ndarray, device="cpu") -> Batch:
        """The named rows as tensors; members [B, 2] of (shard, row)."""
        shards = [(self.shards[i], r) for i, r in members]
        features = np.stack([s.features[r] for s, r in shards])
        return Batch(
            torch.from_numpy(np.stack([s.rows[r] for s, r in shards]).astype(np.int64)).to(device),
            torch.from_numpy(features).to(device).float(),
            torch.from_numpy(np.stack([s.answers[r] for s, r in shards])).to(device),
        )

    def frequent(self, count: int, vocab_size: int) -> np.ndarray:
        """Ids of the tokens that the text uses most, the most frequent first [count]; ties by id.

        Only tokens to be drafted are counted; what remains after them is filled by whole-text frequency.
        """
        drafted, all_text = np.zeros(vocab_size), np.zeros(vocab_size)
        for shard in self.shards:
            drafted += np.bincount(shard.rows[shard.answers], minlength=vocab_size)
            all_text += np.bincount(shard.rows.ravel(), minlength=vocab_size)
        return np.lexsort((-all_text, -drafted))[:count].astype(np.int32)
