"""What the columns of a trace say about each other: the rules a document must keep beyond its types.

Each rule raises ValueError with the field's name in the sentence. They are the invariants of drafting a
tree (parents before children, scores that add up, a mask that never looks ahead), whichever policy drafts; what a
policy promises of every round is asked of the policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..config import DecodeConfig
from ..policies.policy import brief
from .summary import totals_of

SCORE_TOLERANCE = 1e-3  # scores are written with six digits; half-precision heads add float32 rounding


def _need(condition: bool, field: str, sentence: str) -> None:
    if not condition:
        raise ValueError(f"{field} {sentence}")


def _each(sound: np.ndarray, field: str, sentence: Callable[[int], str]) -> None:
    """Of a column: every entry, else the sentence about the first that is not sound."""
    if not sound.all():
        raise ValueError(f"{field} {sentence(int(sound.argmin()))}")


def _same_length(part, name: str, fields: tuple[str, ...]) -> int:
    first = len(getattr(part, fields[0]))
    for field in fields[1:]:
        _need(len(getattr(part, field)) == first, f"{name}.{field}",
              f"has {len(getattr(part, field))} entries where {name}.{fields[0]} has {first}")
    return first


def check_round(r) -> None:
    """Everything that can be said of one round without knowing the others."""
    _check_candidates(r)
    _check_layers(r)
    rows = _check_tree(r)
    _check_retrieve(r, rows)
    _check_target(r, rows)
    _check_accept(r, rows)
    _need(r.cache.kept == r.accept.path, "cache.kept", "differs from accept.path")
    _need(r.cache.length_before == r.prefix_length, "cache.length_before", "differs from prefix_length")
    _need(r.cache.length_after == r.prefix_length + len(r.cache.kept), "cache.length_after",
          "is not length_before plus the rows kept")


def _ints(column: list[int]) -> np.ndarray:
    return np.array(column, dtype=np.int64)


def _check_candidates(r) -> None:
    c = r.candidates
    count = _same_length(c, "candidates", ("token", "parent", "layer", "log_prob", "score"))
    parent, layer, log_prob, score = _ints(c.parent), _ints(c.layer), np.array(c.log_prob), np.array(c.score)
    _each(parent <= np.arange(count), "candidates.parent",
          lambda i: f"of candidate {i + 1} is {c.parent[i]}; a parent comes before its child")
    _each((parent == 0) | (layer > layer[parent - 1]), "candidates.layer",
          lambda i: f"of candidate {i + 1} is {c.layer[i]}, not after its parent's")
    _each(layer[1:] >= layer[:-1], "candidates.layer", lambda i: f"falls at candidate {i + 2}")
    with np.errstate(all="ignore"):  # what overflows is refused
        off = np.abs(np.where(parent > 0, score[parent - 1], 0.0) + log_prob - score)
        near = off <= SCORE_TOLERANCE + 1e-5 * np.abs(score)
    _each(near, "candidates.score",
          lambda i: f"of candidate {i + 1} is {c.score[i]}, not its parent's score plus its candidates.log_prob")


def _check_layers(r) -> None:
    """Any number of rows may be fed, and have any number of children; what is fed was made before."""
    made = r.candidates.layer
    needed = made[-1] + 1 if made else 0
    _need(len(r.layers) >= needed, "layers", f"has {len(r.layers)} entries, candidates.layer needs {needed}")
    parents = [set() for _ in r.layers]
    for parent, layer in zip(r.candidates.parent, made):
        parents[layer].add(parent)
    for i, layer in enumerate(r.layers):
        fed = set(layer.expanded)
        for field, ids, latest in (("expanded", layer.expanded, i - 1), ("selected", layer.selected, i)):
            for j in ids:
                _need((j == 0 and field == "expanded") or (1 <= j <= len(made) and made[j - 1] <= latest),
                      f"layers[{i}].{field}", f"names candidate {j}, which was not made by then")
            _need(len(set(ids)) == len(ids), f"layers[{i}].{field}", "names a candidate twice")
        _need(parents[i] <= fed, f"layers[{i}].expanded", "does not list the parents of the layer's candidates")
        following = r.layers[i + 1].expanded if i + 1 < len(r.layers) else []
        _need(layer.selected == [j for j in following if j], f"layers[{i}].selected",
              "is not what the next layer expanded")


def _check_tree(r) -> int:
    t, c = r.tree, r.candidates
    rows = _same_length(t, "tree", ("candidate", "parent", "depth", "position_ids", "mask"))
    _need(rows > 0 and t.candidate[0] == 0 and t.parent[0] == -1 and t.depth[0] == 0, "tree.candidate",
          "does not start with the root (candidate 0, parent -1, depth 0)")
    _check_mask(t.mask, rows)
    candidate, depth = _ints(t.candidate), _ints(t.depth)
    drafted = candidate[1:]
    _each((drafted > candidate[:-1]) & (drafted <= len(c.token)), "tree.candidate",
          lambda i: f"of row {i + 1} is {t.candidate[i + 1]}, out of order or range")
    above = _ints(c.parent)[drafted - 1]
    row = np.searchsorted(candidate, above)  # a parent comes before its child, so this is a row
    _each((candidate[row] == above) & (_ints(t.parent)[1:] == row), "tree.parent",
          lambda i: f"of row {i + 1} is {t.parent[i + 1]}, not the row of its candidate's parent")
    _each(depth[1:] == depth[row] + 1, "tree.depth",
          lambda i: f"of row {i + 1} is {t.depth[i + 1]}, its parent says otherwise")
    _each(_ints(t.position_ids) == r.prefix_length + depth, "tree.position_ids",
          lambda i: f"of row {i} is {t.position_ids[i]}, not prefix_length plus depth")
    worst = min((c.score[j - 1] for j in t.candidate[1:]), default=None)
    _need((t.cutoff is None) == (worst is None) and (worst is None or abs(t.cutoff - worst) <= SCORE_TOLERANCE),
          "tree.cutoff", f"is {t.cutoff}, the worst kept score is {worst}")
    return rows


def _check_mask(mask: list[str], rows: int) -> None:
    digits = 2 * -(-rows // 8)
    first, beyond = 1 << (4 * digits - 1), (1 << (4 * digits - rows)) - 1
    for i, text in enumerate(mask):
        own, bits = first >> i, int(text, 16) if len(text) == digits else None
        if bits is None:
            raise ValueError(f"tree.mask row {i} has {len(text)} hex digits where {digits} belong")
        if bits & beyond:
            raise ValueError(f"tree.mask row {i} has bits beyond the tree")
        if not (bits & own and bits & first):
            raise ValueError(f"tree.mask row {i} cannot see itself and the root")
        if bits & (own - 1):
            raise ValueError(f"tree.mask row {i} looks at a later row")


def _check_retrieve(r, rows: int) -> None:
    t = r.tree
    leaves = sorted(set(range(rows)) - set(t.parent))
    ends, columns = [], max(t.depth) + 1
    for i, row in enumerate(t.retrieve_indices):
        length = row.index(-1) if -1 in row else len(row)
        if not (len(row) == columns and length and max(row) < rows and row[length:].count(-1) == columns - length):
            raise ValueError(f"tree.retrieve_indices row {i} is not a path padded with -1 to {columns} columns")
        if not (row[0] == 0 and all(t.parent[b] == a for a, b in zip(row, row[1:length]))):
            raise ValueError(f"tree.retrieve_indices row {i} does not run from the root from parent to child")
        ends.append(row[length - 1])
    _need(sorted(ends) == leaves, "tree.retrieve_indices", "does not have exactly one row for every leaf")


def _check_target(r, rows: int) -> None:
    v = r.target
    for field in ("argmax", "token_prob", "top"):
        count = len(getattr(v, field))
        _need(count == rows, f"target.{field}", f"has {count} entries for {rows} rows")
    for i, row in enumerate(v.top):
        ps = [p for _, p in row]
        different = len({t for t, _ in row}) == len(row)
        if not (0 < len(row) == len(v.top[0]) and ps == sorted(ps, reverse=True) and different):
            raise ValueError(f"target.top row {i} is not a descending list of different tokens")


def _check_accept(r, rows: int) -> None:
    a, t = r.accept, r.tree
    _need(a.path[0] == 0 and max(a.path) < rows and all(t.parent[y] == x for x, y in zip(a.path, a.path[1:])),
          "accept.path", "does not run from the root from parent to child")
    _need(a.length == len(a.path) - 1, "accept.length", f"is {a.length} for a path of {len(a.path) - 1} drafted tokens")
    _need(a.bonus_from == a.path[-1], "accept.bonus_from", "is not the last row of accept.path")
    _need(a.row < len(t.retrieve_indices) and t.retrieve_indices[a.row][:len(a.path)] == a.path, "accept.row",
          f"is {a.row}, a row of tree.retrieve_indices that does not start with accept.path")
    _check_draws(a, t)


def _check_draws(a, t) -> None:
    """Along the path every draw but the last at a row failed, and where the path ends they all did."""
    if a.rule == "greedy":
        _need(not a.draws, "accept.draws", "is not empty, but accept.rule says that nothing was drawn for")
        return
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(t.parent):
        children.setdefault(parent, []).append(node)
    tried: list[list[int]] = [[] for _ in a.path]
    step = 0
    for draw in a.draws:
        _need(draw.accepted == (draw.r < draw.p), "accept.draws", f"of row {draw.node} does not accept by r < p")
        _need(0 < draw.node < len(t.parent) and t.parent[draw.node] == a.path[step], "accept.draws",
              f"tries row {draw.node}, which is no child of row {a.path[step]} of accept.path")
        tried[step].append(draw.node)
        if draw.accepted:
            step += 1
            _need(a.path[step:step + 1] == [draw.node], "accept.draws",
                  f"says otherwise of row {draw.node} than accept.path")
    _need(step == len(a.path) - 1, "accept.draws", "ends before accept.path does")
    for row, nodes, child in zip(a.path, tried, [*a.path[1:], None]):
        there = [node for node in children.get(row, []) if child is None or node <= child]
        if a.rule == "one-hot":
            _need(nodes == there, "accept.draws", f"does not try the children of row {row} in order, each once")
        else:
            _need(child is not None or set(nodes) == set(there), "accept.draws",
                  f"does not try every child of row {row}")


def check_run(trace) -> None:
    """How the rounds follow each other, and what output, summary and vocabulary say of them."""
    config = DecodeConfig.from_dict(trace.config)
    decided, expected, known = [], len(trace.prompt.token_ids), {int(key) for key in trace.vocabulary}
    _check_known(trace.prompt.token_ids, "prompt.token_ids", known)
    _check_head(trace.pair)
    for i, r in enumerate(trace.rounds):
        name = f"rounds[{i}]"
        _need(r.index == i, f"{name}.index", f"is {r.index}")
        _need(r.prefix_length == expected, f"{name}.prefix_length", f"is {r.prefix_length} where {expected} belongs")
        _need(not decided or r.root == decided[-1], f"{name}.root", "is not the bonus of the round before")
        _check_settings(r, name, config)
        expected, before = r.cache.length_after, len(decided) or 1
        decided += r.decided if decided else [r.root, *r.decided]
        for field, tokens in (("root", [r.root]), ("candidates.token", r.candidates.token),
                              ("target.argmax", r.target.argmax), ("accept.bonus", [r.accept.bonus]),
                              ("target.top", [token for row in r.target.top for token, _ in row])):
            _check_known(tokens, f"{name}.{field}", known)
    out = trace.output.token_ids
    _need(out == decided[:len(out)] or (not trace.rounds and len(out) <= 1), "output.token_ids",
          "is not what the rounds decided")
    _need(not trace.rounds or len(out) >= before, "output.token_ids", "ends before the last of the rounds")
    _check_known(out, "output.token_ids", known)
    _check_known([token for token, _ in trace.check.choices], "check.choices", known)
    highest = max(known, default=0)
    _need(highest < trace.pair.vocab_size, "vocabulary", f"names token {highest}, above pair.vocab_size")
    _check_summary(trace)
    _check_ending(trace)


def _check_head(pair) -> None:
    _need(max(pair.head.layers) <= pair.num_hidden_layers, "pair.head.layers",
          f"name layer {max(pair.head.layers)}, pair.num_hidden_layers is {pair.num_hidden_layers}")
    _need(pair.head.vocab_size <= pair.vocab_size, "pair.head.vocab_size", "is above pair.vocab_size")


def _check_known(tokens: list[int], field: str, known: set[int]) -> None:
    if not known.issuperset(tokens):
        raise ValueError(f"{field} names token {next(i for i in tokens if i not in known)}, which vocabulary lacks")


def _check_settings(r, name: str, config: DecodeConfig) -> None:
    _check_bounds(r, name, config)
    rule, drafting = r.accept.rule, config.drafting
    _need((rule == "greedy") == config.greedy and (config.greedy or drafting.exact is None or rule == drafting.rule),
          f"{name}.accept.rule", f"is {rule}, which is not how config.policy {config.policy} is judged at "
          f"config.temperature {config.temperature:g}")
    if not config.greedy:
        return
    tokens, says = r.tokens, r.target.argmax
    _need(all(tokens[row] == says[r.tree.parent[row]] for row in r.accept.path[1:]), f"{name}.accept.path",
          "is not what target.argmax chose")
    _need(r.accept.bonus == says[r.accept.bonus_from], f"{name}.accept.bonus", "is not what target.argmax chose")


def _check_bounds(r, name: str, config: DecodeConfig) -> None:
    """A policy that ships says what its knobs let a round take; of somebody else's nothing is known."""
    if config.drafting.exact is None:
        return
    bounds, exact = config.bounds, config.drafting.exact
    for field, got, most in (("candidates", len(r.candidates.token), bounds.candidates),
                             ("tree", len(r.tree.candidate), bounds.rows),
                             ("layers", sum(layer.passes for layer in r.layers), bounds.passes)):
        _need(got == most if exact else got <= most, f"{name}.{field}",
              f"take {got}, config's {config.told()} takes {most}")
    _need(max(r.tree.depth) <= bounds.depth, f"{name}.tree.depth",
          f"reaches {max(r.tree.depth)}, config's {config.told()} at most {bounds.depth}")


def _check_summary(trace) -> None:
    said, totals = trace.summary, totals_of(trace.rounds)
    _need(said.new_tokens == len(trace.output.token_ids), "summary.new_tokens", "is not the length of output.token_ids")
    for name, told in totals.summary(said.new_tokens).items():
        value = getattr(said, name)
        _need(name == "seconds" or _alike(value, told), f"summary.{name}",
              f"is {brief(value)}, the rounds say {brief(told)}")
    for part, spent in totals.seconds.items():
        _need(math.isfinite(spent), "rounds.seconds", f"of {part} have no finite sum")
        _need(abs(said.seconds.get(part, spent) - spent) <= 1e-6 + 1e-6 * spent, "summary.seconds",
              f"say {said.seconds.get(part)} for {part}, the rounds say {spent}")
    _need(math.isfinite(sum(said.seconds.values())), "summary.seconds", "have no finite sum")


def _alike(value, told) -> bool:
    if isinstance(told, list):
        return len(value) == len(told) and all(map(_alike, value, told))
    return abs(value - told) <= (1e-3 if isinstance(told, float) else 0)


def _check_ending(trace) -> None:
    new, reason, c = trace.summary.new_tokens, trace.output.finish_reason, trace.check
    limit = trace.config["max_new_tokens"]
    _need(new <= limit and (reason != "length" or new == limit), "output.finish_reason",
          f"is {reason} at {new} tokens, config.max_new_tokens is {limit}")
    _need(trace.config["draft_vocab"] <= trace.pair.vocab_size, "config.draft_vocab", "is above pair.vocab_size")
    _need((c.lossless is False) == (c.first_difference is not None), "check.first_difference",
          "belongs with check.lossless false, and only there")
    _need(c.first_difference is None or c.first_difference <= new, "check.first_difference", "is beyond the output")
    _need((c.tokens is None) == (c.seconds is None) and not (c.tokens and c.lossless is None), "check.tokens",
          "and check.seconds belong together, with a comparison")
    _need(c.tokens is None or c.tokens <= limit, "check.tokens", f"is {c.tokens}, config.max_new_tokens is {limit}")
