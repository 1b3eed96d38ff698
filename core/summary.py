"""What a run adds up to: the summary of a trace, and the ending of a run that was cut off."""

from __future__ import annotations

NO_CHECK = {"lossless": None, "first_difference": None, "note": "not compared with plain decoding"}


def summarise(lengths: list[int], depth: int, new_tokens: int, seconds: list[dict], prefill: float | None) -> dict:
    """The summary of a trace from the rounds' accepted lengths and their `seconds`."""
    rounds = len(lengths)
    parts = ("draft", "tree", "verify", "accept", "commit")
    totals = {part: sum(s[part] for s in seconds) for part in parts}
    return {
        "rounds": rounds,
        "new_tokens": new_tokens,
        "tau": sum(n + 1 for n in lengths) / rounds if rounds else 0.0,
        "accepted_by_depth": [sum(n > i for n in lengths) for i in range(depth + 1)],
        "seconds": ({} if prefill is None else {"prefill": prefill}) | totals,
        "target_forwards": rounds + 1,  # one a round, and the prefill
        "head_forwards": rounds * (depth + 1),
    }


def finish_cancelled(document: dict, emitted: list[int] | None = None) -> dict:
    """Output, summary and check for a document whose run did not come to its end.

    emitted: the output so far where the caller saw it; a file alone does not tell which ids end a sequence.
    """
    rounds = document["rounds"]
    try:
        config, words = document["config"], document["vocabulary"]
        ids = _emitted([token for r in rounds for token in _committed(r)], config) if emitted is None else emitted
        depth = config.get("depth", 0)
        text = b"".join(bytes.fromhex(w["bytes"]) if w.get("bytes") else w["text"].encode()
                        for w in (words[str(i)] for i in ids) if not w["special"]).decode(errors="replace")
        summary = summarise([r["accept"]["length"] for r in rounds], depth, len(ids),
                            [r["seconds"] for r in rounds], None)
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise ValueError(f"the file ends before its footer and its rounds do not hold together ({error!r})") from None
    return {"output": {"token_ids": ids, "text": text, "finish_reason": "cancelled"}, "summary": summary,
            "check": dict(NO_CHECK)}


def _emitted(ids: list[int], config: dict) -> list[int]:
    """Of the committed ids, those that the run may emit: its last round may have reached past its end."""
    stops = set(config.get("stop_ids", ()))
    ids = ids[: config.get("max_new_tokens", 128)]
    return ids[: next((place for place, token in enumerate(ids, start=1) if token in stops), len(ids))]


def _committed(r: dict) -> list[int]:
    tree, token = r["tree"], r["candidates"]["token"]
    return [r["root"] if row == 0 else token[tree["candidate"][row] - 1] for row in r["accept"]["path"]]
