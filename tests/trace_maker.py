"""Makes sound EAGLE-2 traces of an invented language, in plain Python, for the tests of the viewer.

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


def stream_events(prompt=(0, 1, 2, 3), rounds=6, top_k=4, depth=3, total_tokens=16, temperature=0.0, words=None,
                  seconds=0.01):
    """The events of a whole run of `rounds` rounds."""
    texts = list(words or [" " + w if w.isalpha() else w for w in WORDS])
    size = len(texts)
    known: set[int] = set()

    def vocabulary(tokens):
        new = [t for t in dict.fromkeys(tokens) if t not in known]
        known.update(new)
        return {str(t): _word(texts[t]) for t in new}

    yield RunStarted("2026-11-29T12:00:00Z", {"name": "treeviz", "version": "0", "torch": "-", "transformers": "-"},
                     {"name": "invented", "target": "invented", "draft": "invented", "device": "cpu",
                      "dtype": "float32", "vocab_size": size, "hidden_size": 8, "num_hidden_layers": 2,
                      "head": {"kind": "eagle", "layers": [2], "vocab_size": size}},
                     DecodeConfig(top_k=top_k, depth=depth, total_tokens=total_tokens, max_new_tokens=4096,
                                  temperature=temperature).to_dict(),
                     {"text": "".join(_word(texts[t])["text"] for t in prompt), "token_ids": list(prompt)},
                     vocabulary(prompt))
    context, rng = list(prompt), random.Random(7)
    root = target_choices(context, size)[0][0]
    output, totals = [root], Totals()
    yield RootDecided([root], [_word(texts[root])["text"]], vocabulary([root]))
    spent = {"draft": seconds * 0.4, "tree": seconds * 0.02, "verify": seconds * 0.5, "accept": 0.001, "commit": 0.001}
    for index in range(rounds):
        n = len(context)
        yield RoundStarted(index, n, root, vocabulary([root]))
        token, parent, layer, score = [root], [-1], [-1], [0.0]
        fed = [0]

        path_of = partial(_path, token, parent)

        for level in range(depth + 1):
            first = len(token)
            columns = {"token": [], "parent": [], "log_prob": [], "score": []}
            for i in fed:
                for t, log_prob in head_choices(context + path_of(i), size, top_k):
                    values = (t, i, log_prob, round(score[i] + log_prob, 6))
                    for column, value in zip(columns.values(), values):
                        column.append(value)
                    token.append(t), parent.append(i), layer.append(level), score.append(values[3])
            fresh = sorted(range(first, len(token)), key=lambda i: (-score[i], i))[:top_k]
            chosen = fresh if level < depth else []
            yield LayerDrafted(level, fed, columns["token"], columns["parent"], columns["log_prob"], columns["score"],
                               chosen, 1, vocabulary(columns["token"]))
            fed = chosen
        tree = _flatten(token, parent, layer, score, total_tokens, n)
        yield tree
        contexts = [context + path_of(c) for c in tree.candidate]
        choices = [target_choices(x, size) for x in contexts]
        prob = [1.0] + [dict(choices[tree.parent[i]]).get(token[tree.candidate[i]], 0.0)
                        for i in range(1, len(contexts))]
        top = [[[t, round(p, 6)] for t, p in row[:5]] for row in choices]
        yield TreeVerified([row[0][0] for row in choices], prob, top, vocabulary([t for row in top for t, _ in row]))
        accepted = _accept(tree, [token[c] for c in tree.candidate], choices, temperature, rng)
        yield PathAccepted(vocabulary=vocabulary([accepted["bonus"]]), **accepted)
        kept = accepted["path"]
        context, root = context + [token[tree.candidate[i]] for i in kept], accepted["bonus"]
        new = [*(token[tree.candidate[i]] for i in kept[1:]), root]
        output += new
        totals.add(len(kept) - 1, total_tokens, max(tree.depth), depth + 1, spent)
        yield CacheCommitted(list(kept), n, n + len(kept), dict(spent), new,
                             [_word(texts[t])["text"] for t in new])
    yield RunFinished({"token_ids": output, "text": "".join(_word(texts[t])["text"] for t in output),
                       "finish_reason": "length"},
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


def _flatten(token, parent, layer, score, total, n) -> TreePruned:
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
    return TreePruned(candidate, parents, depth, [n + d for d in depth], mask, rows, min(score[i] for i in best))


def _accept(tree, tokens, choices, temperature, rng) -> dict:
    path, draws, bonus = [0], [], None
    while bonus is None:
        children = [i for i in range(1, len(tokens)) if tree.parent[i] == path[-1]]
        p, left, found = dict(choices[path[-1]]), 1.0, None
        if temperature == 0:
            found = next((i for i in children if tokens[i] == choices[path[-1]][0][0]), None)
        for i in children if temperature else ():
            share, r = min(1.0, p.pop(tokens[i], 0.0) / left), rng.random()
            draws.append({"node": i, "p": share, "r": r, "accepted": r < share})
            if r < share:
                found = i
                break
            left -= share * left
        if found is None:
            bonus = choices[path[-1]][0][0] if temperature == 0 else rng.choices(list(p), p.values())[0]
        else:
            path.append(found)
    row = next(i for i, r in enumerate(tree.retrieve_indices) if r[:len(path)] == path)
    return {"rule": "one-hot" if temperature else "greedy", "row": row, "path": path, "length": len(path) - 1, "draws": draws, "bonus": bonus, "bonus_from": path[-1]}


def trace_with_first_token(text):
    """A run without rounds: its first token ended it."""
    trace = make_trace(rounds=1)
    header, _, footer = map(json.loads, trace.lines())
    header["config"]["depth"] = 0
    header["config"]["top_k"] = header["config"]["total_tokens"] = 1
    summary = footer["summary"] | {"rounds": 0, "new_tokens": 1, "tau": 0.0, "accepted_by_depth": [], "acceptance_rate_per_pos": [], "acceptance_histogram": [],
                                   "mean_acceptance_length": 0.0, "draft_acceptance_rate": 0.0, "seconds": {},
                                   "target_forwards": 1, "head_forwards": 0}
    return Trace.from_dict(header | {"rounds": [], "check": footer["check"], "summary": summary, "output": {
        "token_ids": [15], "text": text, "finish_reason": "eos"}, "vocabulary": header["vocabulary"] | {
            "15": {"text": text, "special": False, "bytes": None}}})
