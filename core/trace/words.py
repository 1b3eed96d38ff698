"""What token ids say: the text of each token by itself, and the text of a growing sequence.

A token of a byte-level or byte-fallback tokenizer may be a fragment of a character. Its entry then carries its
bytes, so that a viewer can show the fragment in the tree and the whole character in the stream.
Everything is derived from the tokenizer object; there is no table per model.
"""

from __future__ import annotations

import re
from functools import cached_property

_BYTE_PIECE = re.compile(r"^<0x([0-9A-Fa-f]{2})>$")


class Words:
    """Texts of token ids, each told once: `new(ids)` returns the entries not returned before."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self._told: set[int] = set()
        added = getattr(tokenizer, "added_tokens_decoder", {})
        self._added = {i: str(token) for i, token in added.items()}
        self._special = {i for i, token in added.items() if token.special}  # what decoding leaves out
        self._special |= set(getattr(tokenizer, "all_special_ids", ()))

    def new(self, ids) -> dict[str, dict]:
        """Vocabulary entries {id: {text, special, bytes}} of the ids that no call before has mentioned."""
        fresh = [i for i in dict.fromkeys(ids) if i not in self._told]
        self._told.update(fresh)
        return {str(i): self.entry(i) for i in fresh}

    def entry(self, token_id: int) -> dict:
        if self.tokenizer is None:
            return {"text": f"<{token_id}>", "special": False, "bytes": None}
        piece = self.tokenizer.convert_ids_to_tokens(token_id)
        if piece is None:  # a padded vocabulary has more rows than words
            return {"text": f"<{token_id}>", "special": True, "bytes": None}
        if token_id in self._special or token_id in self._added:
            return {"text": self._added.get(token_id, piece), "special": token_id in self._special, "bytes": None}
        raw = self._bytes(piece, token_id)
        try:
            return {"text": raw.decode(), "special": False, "bytes": None}
        except UnicodeDecodeError:
            return {"text": "".join(f"<0x{b:02X}>" for b in raw), "special": False, "bytes": raw.hex()}

    def _bytes(self, piece: str, token_id: int) -> bytes:
        if self._spelling == "bytes":
            return bytes(self._byte_of[c] for c in piece) if all(c in self._byte_of for c in piece) else piece.encode()
        byte = _BYTE_PIECE.match(piece)
        if byte:
            return bytes([int(byte[1], 16)])
        return (piece.replace("\u2581", " ") if self._spelling == "spaces" else self._in_context(token_id)).encode()

    @cached_property
    def _spelling(self) -> str:
        """How the tokenizer's decoder reads a piece: as bytes, with \u2581 for a space, or in a way of its own."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None:
            return "spaces"
        steps = backend.decoder.__getstate__().decode() if backend.decoder is not None else ""
        return "bytes" if "ByteLevel" in steps else "spaces" if "\u2581" in steps else "own"

    def _in_context(self, token_id: int) -> str:
        """What the token adds to a text, as its tokenizer decodes it: without a decoder, for one, pieces are words with
        a space between."""
        before, both = (self.tokenizer.decode(ids, clean_up_tokenization_spaces=False)
                        for ids in ([self._neighbour], [self._neighbour, token_id]))
        return both.removeprefix(before)

    @cached_property
    def _neighbour(self) -> int:
        """A token that has a text of its own."""
        return next((i for i in range(len(self.tokenizer)) if i not in self._special and i not in self._added), 0)

    @cached_property
    def _byte_of(self) -> dict[str, int]:
        """The byte that each character of a byte-level piece stands for: printable Latin-1 characters are
        themselves, the other bytes take the code points from 256 up, in order."""
        plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
        others = [b for b in range(256) if b not in plain]
        return {chr(b): b for b in plain} | {chr(256 + n): b for n, b in enumerate(others)}


class Text:
    """The text of a sequence that grows by a few tokens at a time; special tokens are left out.

    `add` returns what can be shown now: bytes of an unfinished character wait for the tokens that finish it.
    Only the last few tokens are decoded each time, so a long text costs no more per token than a short one.
    """

    def __init__(self, tokenizer, prompt_ids: list[int]):
        self.tokenizer = tokenizer
        self._anchor = prompt_ids[-1:]  # tokenizers drop a leading space at the start of a text, not inside it
        self._ids: list[int] = []
        self._window = self._anchor                       # the ids decoded each time: some shown, then the new ones
        self._waiting: list[int] = []                     # of them, those added since all was last shown
        self._shown = len(self._decode(self._window))     # characters of the window that have been shown
        self.text = ""

    def add(self, ids: list[int], last: bool = False) -> str:
        self._ids += ids
        self._window = self._window + ids
        self._waiting = self._waiting + ids
        now = self._decode(self._window)
        safe = now if last else now.rstrip("\ufffd")
        new = safe[self._shown:]
        self._shown = max(self._shown, len(safe))
        self.text += new
        if new and safe == now:  # nothing is half-told: the tokens just shown are context enough for the next
            self._window, self._waiting = self._waiting, []
            self._shown = len(self._decode(self._window))
        if last:
            self.text = self._decode(self._anchor + self._ids)[len(self._decode(self._anchor)):]
        return new

    def _decode(self, ids: list[int]) -> str:
        if self.tokenizer is None:
            return "".join(f"<{i}>" for i in ids)
        return self.tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
