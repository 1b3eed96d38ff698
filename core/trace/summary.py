"""What a run adds up to: the summary of a trace, and the ending of a run that was cut off."""

from __future__ import annotations

from collections import Counter

NO_CHECK = {"lossless": None, "first_difference": None, "note": "not compared with plain decoding"}


def by_depth(lengths: list[int], layers: int) -> list[int]:
    """How many rounds accepted at least 1, 2, ... `layers` drafted tokens."""
    reached = Counter(lengths)
    counts = [len(lengths) - reached[0]]
    for depth in range(1, layers):
        counts.append(counts[-1] - reached[depth])
    return counts[:layers]


def summarise(lengths: list[int], depth: int, new_tokens: int, seconds: list[dict], prefill: float | None) -> dict:
    """The summary of a trace from the rounds' accepted lengths and their `seconds`."""
    rounds = len(lengths)
    parts = ("draft", "tree", "verify", "accept", "commit")
    totals = {part: sum(s[part] for s in seconds) for part in parts}
    return {
        "rounds": rounds,
        "new_tokens": new_tokens,
        "tau": sum(n + 1 for n in lengths) / rounds if rounds else 0.0,
        "accepted_by_depth": by_depth(lengths, depth + 1),
        "seconds": ({} if prefill is None else {"prefill": prefill}) | totals,
        "target_forwards": rounds + 1,  # one a round, and the prefill
        "head_forwards": rounds * (depth + 1),
    }


def finish_cancelled(config: dict, words: dict, ids: list[int], lengths: list[int], seconds: list[dict]) -> dict:
    """Output, summary and check of a run that did not come to its end, having emitted `ids`, whose `words` are there."""
    said = (words[str(i)] for i in ids)
    text = b"".join(bytes.fromhex(w["bytes"]) if w.get("bytes") else w["text"].encode() for w in said if not w["special"])
    return {"output": {"token_ids": ids, "text": text.decode(errors="replace"), "finish_reason": "cancelled"},
            "summary": summarise(lengths, config["depth"], len(ids), seconds, None), "check": dict(NO_CHECK)}


def emitted(ids: list[int], config: dict) -> list[int]:
    """Of the decided ids, those that the run may emit: its last round may have reached past its end."""
    stops = set(config["stop_ids"])
    ids = ids[: config["max_new_tokens"]]
    return ids[: next((place for place, token in enumerate(ids, start=1) if token in stops), len(ids))]
