"""What the columns of a trace say about each other: the rules a document must keep beyond its types.

Each rule raises ValueError with the field's name in the sentence. They are the invariants of EAGLE-2 itself
(parents before children, scores that add up, a mask that never looks ahead), so they read as a summary of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .summary import by_depth

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


def _check_candidates(r) -> None:
    c = r.candidates
    count = _same_length(c, "candidates", ("token", "parent", "layer", "log_prob", "score"))
    _need(count > 0, "candidates.token", "is empty")
    parent, layer, log_prob, score = (np.array(x) for x in (c.parent, c.layer, c.log_prob, c.score))
    _each(parent <= np.arange(count), "candidates.parent",
          lambda i: f"of candidate {i + 1} is {c.parent[i]}; a parent comes before its child")
    _each(layer == np.where(parent > 0, layer[parent - 1] + 1, 0), "candidates.layer",
          lambda i: f"of candidate {i + 1} is {c.layer[i]}, its parent says otherwise")
    _each(layer[1:] >= layer[:-1], "candidates.layer", lambda i: f"falls at candidate {i + 2}")
    with np.errstate(all="ignore"):  # what overflows is refused
        off = np.abs(np.where(parent > 0, score[parent - 1], 0.0) + log_prob - score)
        near = off <= SCORE_TOLERANCE + 1e-5 * np.abs(score)
    _each(near, "candidates.score",
          lambda i: f"of candidate {i + 1} is {c.score[i]}, not its parent's score plus its candidates.log_prob")


def _check_layers(r) -> None:
    c = r.candidates
    _need(len(r.layers) == c.layer[-1] + 1, "layers", f"has {len(r.layers)} entries for {c.layer[-1] + 1} layers")
    fed_by_layer = [set() for _ in r.layers]
    for parent, layer in zip(c.parent, c.layer):
        fed_by_layer[layer].add(parent)
    for i, layer in enumerate(r.layers):
        _need(set(layer.expanded) == fed_by_layer[i] and len(layer.expanded) == len(fed_by_layer[i]),
              f"layers[{i}].expanded", "does not list the parents of the layer's candidates")
        for j in layer.selected:
            _need(1 <= j <= len(c.layer) and c.layer[j - 1] == i, f"layers[{i}].selected",
                  f"names candidate {j}, which is not of that layer")
        _need(len(set(layer.selected)) == len(layer.selected), f"layers[{i}].selected", "names a candidate twice")
        following = r.layers[i + 1].expanded if i + 1 < len(r.layers) else []
        _need(layer.selected == following, f"layers[{i}].selected", "is not what the next layer expanded")


def _check_tree(r) -> int:
    t, c = r.tree, r.candidates
    rows = _same_length(t, "tree", ("candidate", "parent", "depth", "position_ids", "mask"))
    _need(rows > 1 and t.candidate[0] == 0 and t.parent[0] == -1 and t.depth[0] == 0, "tree.candidate",
          "does not start with the root (candidate 0, parent -1, depth 0)")
    _check_mask(t.mask, rows)
    candidate, depth = np.array(t.candidate), np.array(t.depth)
    drafted = candidate[1:]
    _each((drafted > candidate[:-1]) & (drafted <= len(c.token)), "tree.candidate",
          lambda i: f"of row {i + 1} is {t.candidate[i + 1]}, out of order or range")
    above, layer = np.array(c.parent)[drafted - 1], np.array(c.layer)[drafted - 1]
    row = np.searchsorted(candidate, above)  # a parent comes before its child, so this is a row
    _each((candidate[row] == above) & (np.array(t.parent)[1:] == row), "tree.parent",
          lambda i: f"of row {i + 1} is {t.parent[i + 1]}, not the row of its candidate's parent")
    _each(depth[1:] == layer + 1, "tree.depth", lambda i: f"of row {i + 1} is {t.depth[i + 1]}, its layer says otherwise")
    _each(np.array(t.position_ids) == r.prefix_length + depth, "tree.position_ids",
          lambda i: f"of row {i} is {t.position_ids[i]}, not prefix_length plus depth")
    worst = min(c.score[j - 1] for j in t.candidate[1:])
    _need(abs(t.cutoff - worst) <= SCORE_TOLERANCE, "tree.cutoff", f"is {t.cutoff}, the worst kept score is {worst}")
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
        _need(len(getattr(v, field)) == rows, f"target.{field}", f"has {len(getattr(v, field))} entries for {rows} rows")
    for i, row in enumerate(v.top):
        ps = [p for _, p in row]
        if not (0 < len(row) == len(v.top[0]) and ps == sorted(ps, reverse=True) and len({t for t, _ in row}) == len(row)):
            raise ValueError(f"target.top row {i} is not a descending list of different tokens")


def _check_accept(r, rows: int) -> None:
    a, t = r.accept, r.tree
    _need(a.path[0] == 0 and max(a.path) < rows and all(t.parent[y] == x for x, y in zip(a.path, a.path[1:])),
          "accept.path", "does not run from the root from parent to child")
    _need(a.length == len(a.path) - 1, "accept.length", f"is {a.length} for a path of {len(a.path) - 1} drafted tokens")
    _need(a.bonus_from == a.path[-1], "accept.bonus_from", "is not the last row of accept.path")
    _need(a.row < len(t.retrieve_indices) and t.retrieve_indices[a.row][:len(a.path)] == a.path, "accept.row",
          f"is {a.row}, a row of tree.retrieve_indices that does not start with accept.path")
    if not a.tests:
        return
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(t.parent):
        children.setdefault(parent, []).append(node)
    tried = []  # the children of each row on the path, in order, up to the accepted one
    for row, child in zip(a.path, [*a.path[1:], rows]):
        tried += [node for node in children.get(row, []) if node <= child]
    _need([test.node for test in a.tests] == tried, "accept.tests", "do not try the children along accept.path in order")
    on_path = set(a.path)
    for test in a.tests:
        _need(test.accepted == (test.node in on_path), "accept.tests",
              f"say otherwise of row {test.node} than accept.path")
        _need(test.accepted == (test.r < test.p), "accept.tests", f"of row {test.node} does not accept by r < p")


def check_run(trace) -> None:
    """How the rounds follow each other, and what output, summary and vocabulary say of them."""
    emitted, expected, root, known = [], len(trace.prompt.token_ids), None, {int(key) for key in trace.vocabulary}
    _check_known(trace.prompt.token_ids, "prompt.token_ids", known)
    for i, r in enumerate(trace.rounds):
        name = f"rounds[{i}]"
        _need(r.index == i, f"{name}.index", f"is {r.index}")
        _need(r.prefix_length == expected, f"{name}.prefix_length", f"is {r.prefix_length} where {expected} belongs")
        _need(root is None or r.root == root, f"{name}.root", "is not the bonus of the round before")
        _check_settings(r, name, trace.config)
        expected, root = r.cache.length_after, r.accept.bonus
        emitted += r.committed
        for field, tokens in (("root", [r.root]), ("candidates.token", r.candidates.token),
                              ("target.argmax", r.target.argmax), ("accept.bonus", [root]),
                              ("target.top", [token for row in r.target.top for token, _ in row])):
            _check_known(tokens, f"{name}.{field}", known)
    emitted += [root] if root is not None else []
    out = trace.output.token_ids
    _need(out == emitted[:len(out)] or (not trace.rounds and len(out) <= 1), "output.token_ids",
          "is not what the rounds committed")
    _check_known(out, "output.token_ids", known)
    highest = max(known, default=0)
    _need(highest < trace.pair.vocab_size, "vocabulary", f"names token {highest}, above pair.vocab_size")
    _check_summary(trace)


def _check_known(tokens: list[int], field: str, known: set[int]) -> None:
    if not known.issuperset(tokens):
        raise ValueError(f"{field} names token {next(i for i in tokens if i not in known)}, which vocabulary lacks")


def _check_settings(r, name: str, config: dict) -> None:
    top_k, depth, total = config["top_k"], config["depth"], config["total_tokens"]
    _need(len(r.layers) == depth + 1, f"{name}.layers", f"has {len(r.layers)} entries, config.depth is {depth}")
    _need(len(r.candidates.token) == top_k + depth * top_k**2, f"{name}.candidates",
          f"has {len(r.candidates.token)} entries; that is not what config.top_k {top_k} and depth {depth} give")
    _need(len(r.tree.candidate) == total + 1, f"{name}.tree", f"has {len(r.tree.candidate)} rows, "
          f"config.total_tokens is {total}")
    if config["temperature"] > 1e-5:
        _need(bool(r.accept.tests) or (len(r.accept.path) == 1 and 0 not in r.tree.parent), f"{name}.accept.tests",
              "is empty, but config.temperature says that the run was sampled")
        return
    tokens, says = r.tokens, r.target.argmax
    _need(not r.accept.tests, f"{name}.accept.tests", "is not empty, but config.temperature says that the run was greedy")
    _need(all(tokens[row] == says[r.tree.parent[row]] for row in r.accept.path[1:]), f"{name}.accept.path",
          "is not what target.argmax chose")
    _need(r.accept.bonus == says[r.accept.bonus_from], f"{name}.accept.bonus", "is not what target.argmax chose")


def _check_summary(trace) -> None:
    s, lengths = trace.summary, [r.accept.length for r in trace.rounds]
    _need(s.rounds == len(lengths), "summary.rounds", f"is {s.rounds} for {len(lengths)} rounds")
    _need(s.new_tokens == len(trace.output.token_ids), "summary.new_tokens", "is not the length of output.token_ids")
    tau = sum(n + 1 for n in lengths) / len(lengths) if lengths else 0.0
    _need(abs(s.tau - tau) < 1e-3, "summary.tau", f"is {s.tau}, the rounds say {tau:.3f}")
    _need(s.target_forwards == len(lengths) + 1, "summary.target_forwards", "is not one a round and the prefill")
    _need(s.head_forwards == sum(len(r.layers) for r in trace.rounds), "summary.head_forwards", "is not one a layer")
    _need(trace.config["draft_vocab"] <= trace.pair.vocab_size, "config.draft_vocab", "is above pair.vocab_size")
    limit = trace.config["max_new_tokens"]
    _need(s.new_tokens <= limit and (trace.output.finish_reason != "length" or s.new_tokens == limit),
          "output.finish_reason", f"is {trace.output.finish_reason} at {s.new_tokens} tokens, config.max_new_tokens is {limit}")
    c = trace.check
    _need((c.lossless is False) == (c.first_difference is not None), "check.first_difference",
          "belongs with check.lossless false, and only there")
    _need(c.first_difference is None or c.first_difference <= s.new_tokens, "check.first_difference",
          "is beyond the output")
    for part in ("draft", "tree", "verify", "accept", "commit"):
        spent = sum(getattr(r.seconds, part) for r in trace.rounds)
        _need(math.isfinite(spent), "rounds.seconds", f"of {part} have no finite sum")
        _need(abs(s.seconds.get(part, spent) - spent) <= 1e-6 + 1e-6 * spent, "summary.seconds",
              f"say {s.seconds.get(part)} for {part}, the rounds say {spent}")
    _need(math.isfinite(sum(s.seconds.values())), "summary.seconds", "have no finite sum")
    _need(s.accepted_by_depth == by_depth(lengths, trace.config["depth"] + 1), "summary.accepted_by_depth",
          "does not count what the rounds accepted")
