"""What a run adds up to: the summary of a trace, and the ending of a run that was cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate

NO_CHECK = {"lossless": None, "first_difference": None, "note": "not compared with plain decoding", "tokens": None,
            "seconds": None, "clock": [], "choices": []}
PARTS = ("draft", "tree", "verify", "accept", "commit")


class Totals:
    """Sums over rounds, as they come."""

    def __init__(self):
        self.lengths: list[int] = []
        self.drafted, self.deepest, self.head_forwards = 0, 0, 0
        self.seconds = dict.fromkeys(PARTS, 0.0)

    def add(self, length: int, drafted: int, parent: list[int], passes: int, seconds: Mapping[str, float]) -> None:
        """A round: drafted tokens accepted and verified, parents of all candidates in order, head passes, seconds."""
        self.lengths.append(length)
        self.drafted += drafted
        depth = [0]
        for above in parent:
            depth.append(depth[above] + 1)
        self.deepest = max(self.deepest, *depth)
        self.head_forwards += passes
        for part in PARTS:
            self.seconds[part] += seconds[part]

    def add_round(self, r: dict) -> None:
        """A round as it stands in a trace document."""
        self.add(r["accept"]["length"], len(r["tree"]["candidate"]) - 1, r["candidates"]["parent"],
                 sum(layer["passes"] for layer in r["layers"]), r["seconds"])

    def summary(self, new_tokens: int, prefill: float | None = None) -> dict:
        """The summary of a trace; its names are defined in the README."""
        rounds, accepted = len(self.lengths), sum(self.lengths)
        exactly = Counter(self.lengths)
        histogram = [exactly[n] for n in range(self.deepest + 1)] if rounds else []
        by_depth = [*accumulate(reversed(histogram[1:]))][::-1]
        tau = 1 + accepted / rounds if rounds else 0.0
        return {
            "rounds": rounds,
            "new_tokens": new_tokens,
            "tau": tau,
            "accepted_by_depth": by_depth,
            "mean_acceptance_length": tau,
            "acceptance_rate_per_pos": [count / rounds for count in by_depth],
            "draft_acceptance_rate": accepted / self.drafted if self.drafted else 0.0,
            "acceptance_histogram": histogram,
            "seconds": ({} if prefill is None else {"prefill": prefill}) | self.seconds,
            "target_forwards": rounds + 1,  # one a round, and the prefill
            "head_forwards": self.head_forwards,
        }


def totals_of(rounds: list) -> Totals:
    """Of the rounds of a `Trace`."""
    totals = Totals()
    for r in rounds:
        totals.add(r.accept.length, len(r.tree.candidate) - 1, r.candidates.parent,
                   sum(layer.passes for layer in r.layers), {part: getattr(r.seconds, part) for part in PARTS})
    return totals


def finish_cancelled(totals: Totals, words: dict, ids: list[int]) -> dict:
    """Output, summary and check of a run that did not come to its end, having emitted `ids`, whose words are there."""
    said = [word for word in (words[str(i)] for i in ids) if not word["special"]]
    text = b"".join(bytes.fromhex(w["bytes"]) if w.get("bytes") else w["text"].encode() for w in said)
    return {"output": {"token_ids": ids, "text": text.decode(errors="replace"), "finish_reason": "cancelled"},
            "summary": totals.summary(len(ids)), "check": dict(NO_CHECK)}


def emitted(ids: list[int], config: dict) -> list[int]:
    """Of the decided ids, those that the run may emit: its last round may have reached past its end."""
    stops = set(config["stop_ids"])
    ids = ids[: config["max_new_tokens"]]
    return ids[: next((place for place, token in enumerate(ids, start=1) if token in stops), len(ids))]
