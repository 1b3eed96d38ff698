"""Makes sound traces of an invented language, in plain Python, for the tests of the viewer.

The "target" hashes the last two tokens to a list of likely next ones; the "head" sees the same list through some
noise, so that it is right often enough to be interesting. No model, no torch, no randomness between runs.
"""

from __future__ import annotations

import json
import math
import random
from functools import partial

from core.config import DecodeConfig
from core.trace import Trace
from core.trace.events import (
    CacheCommitted,
    LayerDrafted,
    PathAccepted,
    RootDecided,
    RoundStarted,
    RunFinished,
    RunStarted,
    TraceBuilder,
    TreePruned,
    TreeVerified,
)
from core.trace.summary import Totals

WORDS = ("the of and light blue red sky sun air because scatters shorter waves than more in a is it , . we see "
         "molecules atmosphere when reaches our eyes from every direction evening longer path through which appear "
         "so bright colour white many small particles tiny away most other first last only very far near").split()
FAN_OUT = 12
SMALL = {"top_k": 4, "depth": 3, "total_tokens": 16}  # the tree of a run that asks for none


def target_choices(context: list[int], words: int) -> list[tuple[int, float]]:
    """The target's (token, probability) list after `context`, likeliest first."""
    rng = random.Random(f"target {context[-2:]}")
    tokens = rng.sample(range(words), FAN_OUT)
    weights = [0.5 ** (i * rng.uniform(0.6, 1.6)) for i in range(FAN_OUT)]
    total = sum(weights)
    return sorted(((t, w / total) for t, w in zip(tokens, weights)), key=lambda x: -x[1])


def head_choices(context: list[int], words: int, top_k: int) -> list[tuple[int, float]]:
    """The head's best `top_k` (token, log-probability): the target's list, blurred."""
    rng = random.Random(f"head {context[-2:]}")
    blurred = [(t, math.log(p) * 0.8 + rng.gauss(0, 0.55)) for t, p in target_choices(context, words)]
    total = math.log(sum(math.exp(x) for _, x in blurred) * 1.05)
    return sorted(((t, round(min(x - total, -1e-4), 6)) for t, x in blurred), key=lambda x: -x[1])[:top_k]


SHAPES = {  # of a policy: children per fed row, layers, drafted tokens that are kept
    "eagle2": lambda c: (c.top_k, c.depth + 1, c.total_tokens),
    "chain": lambda c: (1, c.length, c.length),
    "plain": lambda c: (0, 0, 0),
}


def stream_events(prompt=(0, 1, 2, 3), rounds=6, words=None, seconds=0.01, **knobs):
    """The events of a whole run of `rounds` rounds; `knobs` are a policy, its own knobs and a temperature."""
    texts = list(words or [" " + w if w.isalpha() else w for w in WORDS])
    size = len(texts)
    known: set[int] = set()
    config = DecodeConfig(max_new_tokens=4096, **knobs if "policy" in knobs else SMALL | knobs)
    top_k, layers, total = SHAPES[config.policy](config)
    rule = "greedy" if config.greedy else config.drafting.rule

    def vocabulary(tokens):
        new = [t for t in dict.fromkeys(tokens) if t not in known]
        known.update(new)
        return {str(t): _word(texts[t]) for t in new}

    def says(tokens):
        return tokens, [_word(texts[t])["text"] for t in tokens]

    yield RunStarted("2026-11-29T12:00:00Z", {"name": "treeviz", "version": "0", "torch": "-", "transformers": "-"},
                     {"name": "invented", "target": "invented", "draft": "invented", "device": "cpu",
                      "dtype": "float32", "vocab_size": size, "hidden_size": 8, "num_hidden_layers": 2,
                      "head": {"kind": "eagle", "layers": [2], "vocab_size": size}},
                     config.to_dict(), {"text": "".join(says(prompt)[1]), "token_ids": list(prompt)},
                     vocabulary(prompt))
    context, rng, totals = list(prompt), random.Random(7), Totals()
    root = target_choices(context, size)[0][0]
    output = [root]
    yield RootDecided(*says([root]), vocabulary([root]))
    spent = {"draft": seconds * 0.4, "tree": seconds * 0.02, "verify": seconds * 0.5, "accept": 0.001, "commit": 0.001}
    for index in range(rounds):
        n = len(context)
        yield RoundStarted(index, n, root, vocabulary([root]))
        token, parent, score = [root], [-1], [0.0]
        fed = [0]

        path_of = partial(_path, token, parent)

        for level in range(layers):
            first = len(token)
            columns = {"token": [], "parent": [], "log_prob": [], "score": []}
            for i in fed:
                for t, log_prob in head_choices(context + path_of(i), size, top_k):
                    values = (t, i, log_prob, round(score[i] + log_prob, 6))
                    for column, value in zip(columns.values(), values):
                        column.append(value)
                    token.append(t), parent.append(i), score.append(values[3])
            fresh = sorted(range(first, len(token)), key=lambda i: (-score[i], i))[:top_k]
            chosen = fresh if level < layers - 1 else []
            yield LayerDrafted(level, fed, columns["token"], columns["parent"], columns["log_prob"], columns["score"],
                               chosen, 1, vocabulary(columns["token"]))
            fed = chosen
        tree = _flatten(token, parent, score, total, n)
        yield tree
        contexts = [context + path_of(c) for c in tree.candidate]
        choices = [target_choices(x, size) for x in contexts]
        prob = [1.0] + [dict(choices[tree.parent[i]]).get(token[tree.candidate[i]], 0.0)
                        for i in range(1, len(contexts))]
        top = [[[t, round(p, 6)] for t, p in row[:5]] for row in choices]
        yield TreeVerified([row[0][0] for row in choices], prob, top, vocabulary([t for row in top for t, _ in row]))
        accepted = _accept(tree, [token[c] for c in tree.candidate], choices, rule, rng)
        yield PathAccepted(vocabulary=vocabulary([accepted["bonus"]]), **accepted)
        kept = accepted["path"]
        path = [token[tree.candidate[i]] for i in kept]
        context, root = context + path, accepted["bonus"]
        totals.add(len(kept) - 1, len(tree.candidate) - 1, parent[1:], layers, spent)
        output += (new := [*path[1:], root])
        yield CacheCommitted(list(kept), n, n + len(kept), dict(spent), *says(new))
    yield RunFinished({"token_ids": output, "text": "".join(says(output)[1]), "finish_reason": "length"},
                      totals.summary(len(output), 0.02))


def _path(token, parent, i):
    path = []
    while i >= 0:
        path.append(token[i])
        i = parent[i]
    return path[::-1]


def make_trace(**settings) -> Trace:
    builder = TraceBuilder()
    for event in stream_events(**settings):
        builder.add(event)
    builder.document["config"]["max_new_tokens"] = len(builder.document["output"]["token_ids"])  # it ended by length
    return builder.trace


def _word(text) -> dict:
    """A vocabulary entry; `bytes` make a token that is a part of a character."""
    if isinstance(text, bytes):
        return {"text": "\ufffd", "special": False, "bytes": text.hex()}
    return {"text": text, "special": text.startswith("<|"), "bytes": None}


def _flatten(token, parent, score, total, n) -> TreePruned:
    best = sorted(range(1, len(token)), key=lambda i: (-score[i], i))[:total]
    candidate = [0, *sorted(best)]
    row = {c: i for i, c in enumerate(candidate)}
    parents = [-1] + [row[parent[c]] for c in candidate[1:]]
    paths = [[0]]
    for i in range(1, len(candidate)):
        paths.append([*paths[parents[i]], i])
    depth = [len(p) - 1 for p in paths]
    width = -(-len(candidate) // 8)
    mask = [sum(1 << (8 * width - 1 - j) for j in p).to_bytes(width, "big").hex() for p in paths]
    leaves = [i for i in range(len(candidate)) if i not in parents]
    rows = [paths[i] + [-1] * (max(depth) + 1 - len(paths[i])) for i in leaves]
    return TreePruned(candidate, parents, depth, [n + d for d in depth], mask, rows,
                      min((score[i] for i in best), default=None))


def _accept(tree, tokens, choices, rule, rng) -> dict:
    path, draws, bonus = [0], [], None
    while bonus is None:
        children = [i for i in range(1, len(tokens)) if tree.parent[i] == path[-1]]
        p, left, found = dict(choices[path[-1]]), 1.0, None
        if rule == "greedy":
            found = next((i for i in children if tokens[i] == choices[path[-1]][0][0]), None)
        for i in children if rule != "greedy" else ():
            share, r = min(1.0, p.pop(tokens[i], 0.0) / left), rng.random()
            draws.append({"node": i, "p": share, "r": r, "accepted": r < share})
            if r < share:
                found = i
                break
            left -= share * left
        if found is None:
            bonus = choices[path[-1]][0][0] if rule == "greedy" else rng.choices(list(p), p.values())[0]
        else:
            path.append(found)
    row = next(i for i, r in enumerate(tree.retrieve_indices) if r[:len(path)] == path)
    return {"rule": rule, "row": row, "path": path, "length": len(path) - 1, "draws": draws, "bonus": bonus,
            "bonus_from": path[-1]}


def trace_with_first_token(text):
    """A run without rounds: its first token ended it."""
    trace = make_trace(rounds=1)
    header, _, footer = map(json.loads, trace.lines())
    return Trace.from_dict(header | {"rounds": [], "check": footer["check"], "summary": Totals().summary(1), "output": {
        "token_ids": [15], "text": text, "finish_reason": "eos"}, "vocabulary": header["vocabulary"] | {
            "15": {"text": text, "special": False, "bytes": None}}})
