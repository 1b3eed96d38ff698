"""Files of version 1, made version 2 as they are read. What is not as it should be is left so, and the rules name it.

Version 1 knew one way to draft and one kind of head, took one pass a layer, called the draws of a round `tests`, and let
the round after say a round's bonus: a last round may have run for nothing.
"""

from __future__ import annotations

from .parts import Round
from .summary import totals_of

NEW = ("mean_acceptance_length", "acceptance_rate_per_pos", "draft_acceptance_rate", "acceptance_histogram")


def header(old: dict) -> dict:
    """The first line of JSON lines, or a whole document."""
    new = old | {"schema_version": 2}
    if isinstance(config := old.get("config"), dict):
        new["config"] = {"policy": "eagle2"} | config
    if isinstance(pair := old.get("pair"), dict):
        head = {"kind": "eagle", "layers": [pair.get("num_hidden_layers")], "vocab_size": pair.get("vocab_size")}
        new["pair"] = pair | {"head": head}
    return new


def round_(old: object, greedy: bool) -> object:
    if not isinstance(old, dict):
        return old
    new = dict(old)
    if isinstance(layers := old.get("layers"), list):
        new["layers"] = [layer | {"passes": 1} if isinstance(layer, dict) else layer for layer in layers]
    if isinstance(accept := old.get("accept"), dict):
        named = {"draws" if name == "tests" else name: value for name, value in accept.items()}
        new["accept"] = {"rule": "greedy" if greedy else "one-hot"} | named
    return new


def footer(old: dict, rounds: list[Round]) -> dict:
    """The last line, or the same part of a document, of a run with these rounds, new ones."""
    new = dict(old)
    if isinstance(check := old.get("check"), dict):
        new["check"] = check | {"tokens": None, "seconds": None, "clock": [], "choices": []}
    if isinstance(summary := old.get("summary"), dict):
        told = totals_of(rounds).summary(0)
        new["summary"] = {name: told[name] for name in NEW} | summary
        depths, deepest = summary.get("accepted_by_depth"), len(told["accepted_by_depth"])
        if isinstance(depths, list) and not any(depths[deepest:]):  # of a run without rounds it had zeros
            new["summary"]["accepted_by_depth"] = depths[:deepest]
    return new
