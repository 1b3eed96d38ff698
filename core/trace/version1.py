"""Traces of version 1 as version 2, while they are read. Knows the differences, and does not judge: what is not sound in an old
file stays so, and is refused like any other.

Version 1 knew one way to draft and one kind of head, called the draws of a round `tests`, and let the round after say a
round's bonus. Its rounds stay as they are, also a last one that ran for nothing.
"""

from __future__ import annotations

from .summary import Totals

GREEDY = 1e-5  # the temperature below which its runs were greedy


def header(old: dict) -> dict:
    """The first line of JSON lines, or a whole document."""
    new = old | {"schema_version": 2}
    if isinstance(config := old.get("config"), dict):
        new["config"] = {"policy": "eagle2"} | config
    if isinstance(pair := old.get("pair"), dict):
        new["pair"] = pair | {"head": {"kind": "eagle", "layers": [pair.get("num_hidden_layers")],
                                       "vocab_size": pair.get("vocab_size")}}
    return new


def round_(old: object, config: object) -> object:
    """A round of a run with such a config."""
    if not isinstance(old, dict):
        return old
    new = dict(old)
    if isinstance(accept := old.get("accept"), dict):
        temperature = config.get("temperature") if isinstance(config, dict) else 0
        drawn = isinstance(temperature, int | float) and temperature > GREEDY
        new["accept"] = {"rule": "one-hot" if drawn else "greedy"} | {
            "draws" if name == "tests" else name: value for name, value in accept.items()}
    if isinstance(layers := old.get("layers"), list):
        new["layers"] = [layer | {"passes": 1} if isinstance(layer, dict) else layer for layer in layers]
    return new


def footer(old: dict, rounds: list) -> dict:
    """The last line, or the same part of a document, of a run with these rounds, new ones."""
    new = dict(old)
    if isinstance(check := old.get("check"), dict):
        new["check"] = check | {"tokens": None, "seconds": None}
    if isinstance(summary := old.get("summary"), dict):
        totals = Totals()
        try:
            for r in rounds:
                totals.add_round(r)
            added = totals.summary(0)
            new["summary"] = {name: added[name] for name in (
                "mean_acceptance_length", "acceptance_rate_per_pos", "draft_acceptance_rate", "acceptance_histogram")} | summary
            new["summary"]["accepted_by_depth"] = summary["accepted_by_depth"][: totals.deepest]
        except (KeyError, TypeError, ValueError, AttributeError):
            pass  # not sound, and said so when it is checked
    return new


def document(old: dict) -> dict:
    new = footer(header(old), [])
    if isinstance(rounds := old.get("rounds"), list):
        new["rounds"] = [round_(r, old.get("config")) for r in rounds]
        new |= footer({name: old[name] for name in ("check", "summary") if name in old}, new["rounds"])
    return new
