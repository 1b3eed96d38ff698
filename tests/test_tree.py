"""The tree as pure functions: closed under parents whatever the scores, and equal to a naive recursion."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core import DecodeConfig
from core.policies.eagle2 import POLICY
from core.tree import Candidates, expand, flatten, gather, rerank, select
from core.verify import accept_greedy


class FakeDrafter:
    """Logits from a seed, over a few levels only, so that masses of scores are equal. "flat": all of them;
    "saturated": every first child has log-probability exactly 0, the case in which a careless re-rank breaks."""

    device = torch.device("cpu")

    def __init__(self, seed, kind, vocab):
        self.random, self.kind, self.vocab = torch.Generator().manual_seed(seed), kind, vocab
        self.probed = []

    def logits(self, rows):
        levels = torch.randint(0, 3, (rows, self.vocab), generator=self.random).float()
        if self.kind == "flat":
            return torch.zeros(rows, self.vocab)
        if self.kind == "saturated":
            levels[torch.arange(rows), torch.randint(0, self.vocab, (rows,), generator=self.random)] = 1000.0
        if self.kind == "smooth":
            levels = torch.randn(rows, self.vocab, generator=self.random) * 3
        return levels

    def token_ids(self, places):
        return places

    def observe(self, token_ids, features):
        return torch.zeros(1, 2), self.logits(1)

    def probe(self, token_ids, features, mask, depth):
        self.probed.append((token_ids, mask))
        return torch.zeros(len(token_ids), 2), self.logits(len(token_ids))


@st.composite
def drafts(draw):
    """The candidates of a round, and how many of them to keep."""
    top_k, depth = draw(st.integers(1, 5)), draw(st.integers(0, 4))
    total = draw(st.integers(1, top_k + depth * top_k**2))
    drafter = FakeDrafter(draw(st.integers(0, 2**31)), draw(st.sampled_from(["ties", "flat", "saturated", "smooth"])),
                          vocab=draw(st.integers(top_k, 9)))
    config = DecodeConfig(top_k=top_k, depth=depth, total_tokens=total)
    layers = list(POLICY.grow(drafter, torch.tensor([5]), torch.zeros(1, 2), config))
    return config, layers, drafter


def naive(root, candidates, total):
    """The same tree by recursion: rows as (token, parent row, path of rows from the root)."""
    order = sorted(range(len(candidates.token)), key=lambda i: (-float(candidates.score[i]), i))
    kept = sorted(order[:total])
    rows, place = [(root, -1, [0])], {0: 0}
    for i in kept:
        parent = place[int(candidates.parent[i])]
        place[i + 1] = len(rows)
        rows.append((int(candidates.token[i]), parent, [*rows[parent][2], len(rows)]))
    return rows


@settings(max_examples=300, deadline=None)
@given(drafts())
def test_tree_against_recursion(draft):
    config, layers, _ = draft
    candidates = gather(layers)
    kept = rerank(candidates.score, config.total_tokens)
    assert set(candidates.parent[kept].tolist()) <= {0, *(kept + 1).tolist()}, "closed under parents"
    tree, rows = flatten(7, candidates, kept), naive(7, candidates, config.total_tokens)
    assert tree.token.tolist() == [token for token, _, _ in rows]
    assert tree.parent.tolist() == [parent for _, parent, _ in rows]
    assert tree.depth.tolist() == [len(path) - 1 for _, _, path in rows]
    for row, (_, _, path) in enumerate(rows):
        assert set(tree.mask[row].nonzero().flatten().tolist()) == set(path), "a mask row is the ancestors and itself"
    leaves = sorted(set(range(len(rows))) - {parent for _, parent, _ in rows})
    table = [[i for i in row if i >= 0] for row in tree.retrieve_indices.tolist()]
    assert table == [rows[leaf][2] for leaf in leaves], "every leaf has one row, from the root to it"
    assert tree.cutoff == pytest.approx(float(candidates.score[kept].min()))


@settings(max_examples=150, deadline=None)
@given(drafts())
def test_scores_and_selection(draft):
    config, layers, drafter = draft
    assert len(layers) == config.depth + 1
    assert sum(len(layer.token) for layer in layers) == config.bounds.candidates
    score = {0: 0.0}
    token = {}
    for number, layer in enumerate(layers):
        first = len(score)
        for i in range(len(layer.token)):
            parent = int(layer.parent[i])
            assert float(layer.score[i]) <= score[parent], "a score never rises from parent to child"
            assert float(layer.log_prob[i]) <= 0
            assert float(layer.score[i]) == pytest.approx(score[parent] + float(layer.log_prob[i]), abs=1e-4)
            score[first + i], token[first + i] = float(layer.score[i]), int(layer.token[i])
        if number < config.depth:
            ids = range(first, first + len(layer.token))
            best = sorted(ids, key=lambda i: (-score[i], i))[: config.top_k]
            assert layer.selected.tolist() == (best if number else list(ids)), "best first, ties by creation"
            assert layers[number + 1].expanded.tolist() == layer.selected.tolist()
            fed, mask = drafter.probed[number]
            assert fed.tolist() == [token[i] for i in layer.selected.tolist()]
            _check_beam_mask(mask, layers[: number + 2])
    assert layers[-1].selected.tolist() == []


def _check_beam_mask(mask, layers):
    """A fed node sees the fed nodes on its own path, and itself."""
    parent = dict(enumerate(torch.cat([layer.parent for layer in layers]).tolist(), start=1))
    fed = [i for layer in layers[1:] for i in layer.expanded.tolist()]
    for row, node in enumerate(layers[-1].expanded.tolist()):
        path = set()
        while node:
            path.add(node)
            node = parent[node]
        assert {fed[j] for j in mask[row].nonzero().flatten().tolist()} == path


def test_select_is_stable():
    score = torch.tensor([-1.0, -0.5, -1.0, -0.5, -0.5])
    assert select(score, 4).tolist() == [1, 3, 4, 0]
    assert rerank(score, 4).tolist() == [0, 1, 3, 4]


def test_expand_scores_in_float32():
    logits = torch.tensor([[8.0, 0.0, 1.0]], dtype=torch.bfloat16)
    token, log_prob, score = expand(logits, torch.tensor([-3.0]), 2)
    assert token.tolist() == [[0, 2]]
    assert log_prob.dtype == score.dtype == torch.float32
    assert float(score[0, 1]) == pytest.approx(-3 + float(logits.float().log_softmax(-1)[0, 2]), abs=1e-6)


def test_a_child_without_its_parent_is_refused():
    candidates = Candidates(torch.tensor([3, 4]), torch.tensor([0, 1]), torch.tensor([0, 1]), torch.tensor([-1.0, -1.0]))
    with pytest.raises(AssertionError, match="without its parent"):
        flatten(0, candidates, torch.tensor([1]))


def test_greedy_acceptance_takes_the_longest_path():
    #      0 ── 1 ── 3
    #        └─ 2 ── 4 ── 5
    candidates = Candidates(torch.tensor([11, 12, 13, 14, 15]), torch.tensor([0, 0, 1, 2, 4]),
                            torch.tensor([0, 0, 1, 1, 2]), torch.tensor([-1.0, -1, -2, -2, -3]))
    tree = flatten(10, candidates, torch.arange(5))
    said = torch.tensor([12, 13, 14, 99, 15, 77])
    accepted = accept_greedy(tree, said)
    assert (accepted.path, accepted.bonus, accepted.row) == ([0, 2, 4, 5], 77, 1)
    # a match below a mismatch counts for nothing
    accepted = accept_greedy(tree, torch.tensor([12, 13, 98, 99, 15, 77]))
    assert (accepted.path, accepted.bonus, accepted.row) == ([0, 2], 98, 1)
    accepted = accept_greedy(tree, torch.tensor([55, 13, 14, 99, 15, 77]))
    assert (accepted.path, accepted.bonus, accepted.row) == ([0], 55, 0)
