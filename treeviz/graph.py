"""A round as a networkx graph, for notebooks. Knows nothing of where a node stands or how it looks."""

from __future__ import annotations

from .story.frames import frames, rejected_rows
from .story.labels import show


def to_networkx(r, trace=None):
    """The whole round as a networkx DiGraph, all candidates and the bonus with what is known of them.

    Node attributes: token, text, layer, log_prob, score, state, row, position, target_prob, target_choice; all
    plain values, so `networkx.write_graphml` is one call away. Pass the trace for the texts.
    """
    import networkx as nx

    graph = nx.DiGraph(round=r.index, prefix_length=r.prefix_length)
    if r.tree.cutoff is not None:
        graph.graph["cutoff"] = r.tree.cutoff
    last = frames(r)[-1].states
    row_of = {candidate: row for row, candidate in enumerate(r.tree.candidate)}
    refused = set(rejected_rows(r))
    bonus = len(r.candidates.token) + 1
    tokens = [r.root, *r.candidates.token, r.accept.bonus]
    for node, token in enumerate(tokens):
        attributes = {"token": token, "state": last[node], "kept": node in row_of}
        if trace is not None:
            attributes["text"] = show(trace.token(token))
        if 0 < node < bonus:
            attributes |= {name: getattr(r.candidates, name)[node - 1] for name in ("layer", "log_prob", "score")}
        if node in row_of:
            row = row_of[node]
            attributes |= {"row": row, "position": r.tree.position_ids[row], "rejected": row in refused,
                           "target_prob": r.target.token_prob[row], "target_choice": r.target.argmax[row]}
        graph.add_node(node, **attributes)
    for node in range(1, bonus):
        graph.add_edge(r.candidates.parent[node - 1], node, log_prob=r.candidates.log_prob[node - 1])
    graph.add_edge(r.tree.candidate[r.accept.bonus_from], bonus)
    return graph
