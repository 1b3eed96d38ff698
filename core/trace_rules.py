"""What the columns of a trace say about each other: the rules a document must keep beyond its types.

Each rule raises ValueError with the field's name in the sentence. They are the invariants of EAGLE-2 itself
(parents before children, scores that add up, a mask that never looks ahead), so they read as a summary of it.
"""

from __future__ import annotations

import math

SCORE_TOLERANCE = 1e-3  # scores are written with six digits; half-precision heads add float32 rounding


def _need(condition: bool, field: str, sentence: str) -> None:
    if not condition:
        raise ValueError(f"{field} {sentence}")


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
    for i in range(count):
        parent = c.parent[i]
        _need(parent <= i, "candidates.parent", f"of candidate {i + 1} is {parent}; a parent comes before its child")
        layer, score = (c.layer[parent - 1] + 1, c.score[parent - 1]) if parent else (0, 0.0)
        _need(c.layer[i] == layer, "candidates.layer", f"of candidate {i + 1} is {c.layer[i]}, its parent says {layer}")
        _need(i == 0 or c.layer[i] >= c.layer[i - 1], "candidates.layer", f"falls at candidate {i + 1}")
        _need(abs(score + c.log_prob[i] - c.score[i]) <= SCORE_TOLERANCE + 1e-5 * abs(c.score[i]), "candidates.score",
              f"of candidate {i + 1} is {c.score[i]}, not its parent's score plus its candidates.log_prob")


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
    row_of = {0: 0}
    digits = 2 * -(-rows // 8)
    for i in range(rows):
        _need(len(t.mask[i]) == digits, "tree.mask", f"row {i} has {len(t.mask[i])} hex digits where {digits} belong")
        bits = int(t.mask[i], 16) >> (digits * 4 - rows)
        _need(int(t.mask[i], 16) == bits << (digits * 4 - rows), "tree.mask", f"row {i} has bits beyond the tree")
        _need(bits >> (rows - 1 - i) & 1 and bits >> (rows - 1), "tree.mask", f"row {i} cannot see itself and the root")
        _need(not bits & ((1 << (rows - 1 - i)) - 1), "tree.mask", f"row {i} looks at a later row")
        if i:
            j = t.candidate[i]
            _need(t.candidate[i - 1] < j <= len(c.token), "tree.candidate", f"of row {i} is {j}, out of order or range")
            _need(t.parent[i] == row_of.get(c.parent[j - 1]), "tree.parent",
                  f"of row {i} is {t.parent[i]}, not the row of its candidate's parent")
            _need(t.depth[i] == c.layer[j - 1] + 1, "tree.depth", f"of row {i} is {t.depth[i]}, its layer says otherwise")
            row_of[j] = i
        _need(t.position_ids[i] == r.prefix_length + t.depth[i], "tree.position_ids",
              f"of row {i} is {t.position_ids[i]}, not prefix_length plus depth")
    worst = min(c.score[j - 1] for j in t.candidate[1:])
    _need(abs(t.cutoff - worst) <= SCORE_TOLERANCE, "tree.cutoff", f"is {t.cutoff}, the worst kept score is {worst}")
    return rows


def _check_retrieve(r, rows: int) -> None:
    t = r.tree
    leaves = sorted(set(range(rows)) - set(t.parent))
    ends, columns = [], max(t.depth) + 1
    for i, row in enumerate(t.retrieve_indices):
        path = [node for node in row if node >= 0]
        _need(len(row) == columns and row == path + [-1] * (columns - len(path)) and bool(path) and max(path) < rows,
              "tree.retrieve_indices", f"row {i} is not a path padded with -1 to {columns} columns")
        _need(path[0] == 0 and all(t.parent[b] == a for a, b in zip(path, path[1:])), "tree.retrieve_indices",
              f"row {i} does not run from the root from parent to child")
        ends.append(path[-1])
    _need(sorted(ends) == leaves, "tree.retrieve_indices", "does not have exactly one row for every leaf")


def _check_target(r, rows: int) -> None:
    v = r.target
    for field in ("argmax", "token_prob", "top"):
        _need(len(getattr(v, field)) == rows, f"target.{field}", f"has {len(getattr(v, field))} entries for {rows} rows")
    for i, row in enumerate(v.top):
        ps = [p for _, p in row]
        _need(0 < len(row) == len(v.top[0]) and ps == sorted(ps, reverse=True) and len({t for t, _ in row}) == len(row), "target.top",
              f"row {i} is not a descending list of different tokens")


def _check_accept(r, rows: int) -> None:
    a, t = r.accept, r.tree
    _need(a.path[0] == 0 and max(a.path) < rows and all(t.parent[y] == x for x, y in zip(a.path, a.path[1:])),
          "accept.path", "does not run from the root from parent to child")
    _need(a.length == len(a.path) - 1, "accept.length", f"is {a.length} for a path of {len(a.path) - 1} drafted tokens")
    _need(a.bonus_from == a.path[-1], "accept.bonus_from", "is not the last row of accept.path")
    _need(a.row < len(t.retrieve_indices) and t.retrieve_indices[a.row][:len(a.path)] == a.path, "accept.row",
          f"is {a.row}, a row of tree.retrieve_indices that does not start with accept.path")
    tried = []  # the children of each row on the path, in order, up to the accepted one
    for row, child in zip(a.path, [*a.path[1:], rows]):
        tried += [node for node in range(1, rows) if t.parent[node] == row and node <= child]
    _need(not a.tests or [test.node for test in a.tests] == tried, "accept.tests",
          "do not try the children along accept.path in order")
    for test in a.tests:
        _need(test.accepted == (test.node in a.path), "accept.tests", f"say otherwise of row {test.node} than accept.path")
        _need(test.accepted == (test.r < test.p), "accept.tests", f"of row {test.node} does not accept by r < p")


def check_run(trace) -> None:
    """How the rounds follow each other, and what output, summary and vocabulary say of them."""
    emitted, expected, root = [], len(trace.prompt.token_ids), None
    used = [("prompt.token_ids", trace.prompt.token_ids)]
    for i, r in enumerate(trace.rounds):
        name = f"rounds[{i}]"
        _need(r.index == i, f"{name}.index", f"is {r.index}")
        _need(r.prefix_length == expected, f"{name}.prefix_length", f"is {r.prefix_length} where {expected} belongs")
        _need(root is None or r.root == root, f"{name}.root", "is not the bonus of the round before")
        _check_settings(r, name, trace.config)
        expected, root = r.cache.length_after, r.accept.bonus
        emitted += r.committed
        used += [(f"{name}.root", [r.root]), (f"{name}.candidates.token", r.candidates.token),
                 (f"{name}.target.argmax", r.target.argmax), (f"{name}.accept.bonus", [root]),
                 (f"{name}.target.top", [token for row in r.target.top for token, _ in row])]
    emitted += [root] if root is not None else []
    out = trace.output.token_ids
    _need(out == emitted[:len(out)] or (not trace.rounds and len(out) <= 1), "output.token_ids", "is not what the rounds committed")
    for field, tokens in [*used, ("output.token_ids", out)]:
        for token in tokens:
            _need(str(token) in trace.vocabulary, field, f"names token {token}, which vocabulary lacks")
    for key in trace.vocabulary:
        _need(int(key) < trace.pair.vocab_size, "vocabulary", f"names token {key}, above pair.vocab_size")
    _check_summary(trace)


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
    by_depth = [sum(n > i for n in lengths) for i in range(len(s.accepted_by_depth))]
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
    _need(s.accepted_by_depth == by_depth and len(by_depth) == trace.config["depth"] + 1, "summary.accepted_by_depth",
          "does not count what the rounds accepted")
