"""What the columns of a trace say about each other: the rules a document must keep beyond its types.

Each rule raises ValueError with the field's name in the sentence. They are the invariants of EAGLE-2 itself
(parents before children, scores that add up, a mask that never looks ahead), so they read as a summary of it. What a
policy promises of every round is asked of the policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..config import DecodeConfig
from ..policies.policy import brief
from .summary import PARTS, Totals

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
    c = r.candidates
    made = c.layer[-1] + 1 if c.layer else 0
    _need(len(r.layers) == made, "layers", f"has {len(r.layers)} entries for {made} layers")
    fed_by_layer = [set() for _ in r.layers]
    for parent, layer in zip(c.parent, c.layer):
        fed_by_layer[layer].add(parent)
    for i, layer in enumerate(r.layers):
        _need(set(layer.expanded) == fed_by_layer[i] and len(layer.expanded) == len(fed_by_layer[i]),
              f"layers[{i}].expanded", "does not list the parents of the layer's candidates")
        for j in layer.selected:
            _need(1 <= j <= len(c.layer) and c.layer[j - 1] <= i, f"layers[{i}].selected",
                  f"names candidate {j}, which is not made by then")
        _need(len(set(layer.selected)) == len(layer.selected), f"layers[{i}].selected", "names a candidate twice")
        following = r.layers[i + 1].expanded if i + 1 < len(r.layers) else []
        _need(layer.selected == following, f"layers[{i}].selected", "is not what the next layer expanded")


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
    _each(depth[1:] == depth[row] + 1, "tree.depth", lambda i: f"of row {i + 1} is {t.depth[i + 1]}, its parent says otherwise")
    _each(_ints(t.position_ids) == r.prefix_length + depth, "tree.position_ids",
          lambda i: f"of row {i} is {t.position_ids[i]}, not prefix_length plus depth")
    worst = min((c.score[j - 1] for j in t.candidate[1:]), default=None)
    _need((t.cutoff is None) == (worst is None) and (worst is None or abs(t.cutoff - worst) <= SCORE_TOLERANCE), "tree.cutoff",
          f"is {t.cutoff}, the worst kept score is {worst}")
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
    _need(not (a.draws and a.rule == "greedy"), "accept.draws", "is not empty, but accept.rule says that nothing was drawn")
    if a.draws:
        _check_draws(r, rows)


def _check_draws(r, rows: int) -> None:
    """The children of each row on the path are tried in order, up to the accepted one. Drawn from the head's distribution, they
    come as they were drawn, and a node comes again where it was drawn again."""
    a, t = r.accept, r.tree
    on_path = set(a.path)
    if a.rule == "one-hot":
        children: dict[int, list[int]] = {}
        for node, parent in enumerate(t.parent):
            children.setdefault(parent, []).append(node)
        tried = [node for row, child in zip(a.path, [*a.path[1:], rows]) for node in children.get(row, []) if node <= child]
        _need([draw.node for draw in a.draws] == tried, "accept.draws", "do not try the children along accept.path in order")
    else:
        place = 0  # on the path
        for draw in a.draws:
            _need(draw.node < rows and t.parent[draw.node] == a.path[place], "accept.draws",
                  f"try row {draw.node}, which is no child of the row on accept.path")
            place += draw.accepted and place + 1 < len(a.path)
        _need([0, *(draw.node for draw in a.draws if draw.accepted)] == a.path, "accept.draws", "do not lead along accept.path")
    for draw in a.draws:
        _need(draw.accepted == (draw.node in on_path), "accept.draws",
              f"say otherwise of row {draw.node} than accept.path")
        _need(draw.accepted == (draw.r < draw.p), "accept.draws", f"of row {draw.node} does not accept by r < p")


def check_run(trace) -> None:
    """How the rounds follow each other, and what output, summary and vocabulary say of them."""
    config = DecodeConfig.from_dict(trace.config)
    emitted, expected, root, known = [], len(trace.prompt.token_ids), None, {int(key) for key in trace.vocabulary}
    _check_known(trace.prompt.token_ids, "prompt.token_ids", known)
    for i, r in enumerate(trace.rounds):
        name = f"rounds[{i}]"
        _need(r.index == i, f"{name}.index", f"is {r.index}")
        _need(r.prefix_length == expected, f"{name}.prefix_length", f"is {r.prefix_length} where {expected} belongs")
        _need(root is None or r.root == root, f"{name}.root", "is not the bonus of the round before")
        _check_settings(r, name, config)
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


def _check_settings(r, name: str, config: DecodeConfig) -> None:
    bounds, policy = config.bounds, config.drafting
    for field, got, most in (("candidates", len(r.candidates.token), bounds.candidates), ("tree", len(r.tree.candidate), bounds.rows),
                             ("layers", sum(layer.passes for layer in r.layers), bounds.passes)):
        _need(policy.exact is None or (got == most if policy.exact else got <= most), f"{name}.{field}",
              f"take {got}; that is not what config says of the policy {policy.name}: {most}")
    if not config.greedy:
        _need(r.accept.rule == policy.rule or (policy.exact is None and r.accept.rule != "greedy"), f"{name}.accept.rule",
              f"is {r.accept.rule}, but config.temperature says that the run was sampled, and config.policy by which rule")
        _need(bool(r.accept.draws) or (len(r.accept.path) == 1 and 0 not in r.tree.parent), f"{name}.accept.draws",
              "is empty, but config.temperature says that the run was sampled")
        return
    tokens, says = r.tokens, r.target.argmax
    _need(r.accept.rule == "greedy", f"{name}.accept.rule", f"is {r.accept.rule}, but config.temperature says that the run was greedy")
    _need(all(tokens[row] == says[r.tree.parent[row]] for row in r.accept.path[1:]), f"{name}.accept.path",
          "is not what target.argmax chose")
    _need(r.accept.bonus == says[r.accept.bonus_from], f"{name}.accept.bonus", "is not what target.argmax chose")


def _check_summary(trace) -> None:
    s, totals = trace.summary, Totals()
    for r in trace.rounds:
        totals.add(r.accept.length, len(r.tree.candidate) - 1, max(r.tree.depth), sum(layer.passes for layer in r.layers),
                   {part: getattr(r.seconds, part) for part in PARTS})
    true = totals.summary(len(trace.output.token_ids))
    _need(s.new_tokens == true["new_tokens"], "summary.new_tokens", "is not the length of output.token_ids")
    for field in ("rounds", "accepted_by_depth", "acceptance_histogram", "target_forwards", "head_forwards"):
        _need(getattr(s, field) == true[field], f"summary.{field}", f"is {brief(getattr(s, field))}, the rounds say {true[field]}")
    for field in ("tau", "mean_acceptance_length", "draft_acceptance_rate"):
        _need(abs(getattr(s, field) - true[field]) < 1e-3, f"summary.{field}",
              f"is {getattr(s, field)}, the rounds say {true[field]:.3f}")
    rates = true["acceptance_rate_per_pos"]
    _need(len(rates) == len(s.acceptance_rate_per_pos) and all(abs(a - b) < 1e-3 for a, b in zip(s.acceptance_rate_per_pos, rates)),
          "summary.acceptance_rate_per_pos", "is not what the rounds say")
    _need(trace.config["draft_vocab"] <= trace.pair.vocab_size, "config.draft_vocab", "is above pair.vocab_size")
    limit = trace.config["max_new_tokens"]
    _need(s.new_tokens <= limit and (trace.output.finish_reason != "length" or s.new_tokens == limit),
          "output.finish_reason", f"is {trace.output.finish_reason} at {s.new_tokens} tokens, config.max_new_tokens is {limit}")
    c = trace.check
    _need((c.lossless is False) == (c.first_difference is not None), "check.first_difference",
          "belongs with check.lossless false, and only there")
    _need(c.first_difference is None or c.first_difference <= s.new_tokens, "check.first_difference",
          "is beyond the output")
    _need((c.tokens is None) == (c.seconds is None) and not (c.tokens and c.lossless is None), "check.tokens",
          "and check.seconds belong together, with a comparison")
    _need(c.tokens is None or c.tokens <= limit, "check.tokens", f"is {c.tokens}, config.max_new_tokens is {limit}")
    for part, spent in true["seconds"].items():
        _need(math.isfinite(spent), "rounds.seconds", f"of {part} have no finite sum")
        _need(abs(s.seconds.get(part, spent) - spent) <= 1e-6 + 1e-6 * spent, "summary.seconds",
              f"say {s.seconds.get(part)} for {part}, the rounds say {spent}")
    _need(math.isfinite(sum(s.seconds.values())), "summary.seconds", "have no finite sum")
