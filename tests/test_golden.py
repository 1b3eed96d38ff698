"""Rounds recorded from the method's official implementation, reproduced with both kinds of head (golden/README.md,
golden3/README.md)."""

import json
from functools import cache
from pathlib import Path

import pytest
import torch

from core import DecodeConfig, TraceBuilder, decode, load_pair, stream
from core.verify import Chance

HERE = Path(__file__).parent
TRACES = sorted(path for folder in ("golden", "golden3") for path in (HERE / folder / "traces").glob("*.json"))


@cache
def pair(folder, target, head):
    return load_pair(folder / target, folder / head, device="cpu", dtype="float32")


def settings(golden):
    return DecodeConfig(top_k=golden["top_k"], depth=golden["depth"], total_tokens=golden["total_token"] - 1,
                        max_new_tokens=golden["new_token"], temperature=golden["temperature"],
                        top_p=golden.get("top_p") or 1.0, sample_top_k=golden.get("top_k_sampling") or 0)


class Replay(Chance):
    """The recorded draws, and the recorded roots and bonus tokens, in order; checks what they were drawn from."""

    def __init__(self, golden):
        self.draws = [r for round_ in golden["rounds"] for r in round_["uniform_draws"]]
        self.tokens = [golden["first_root"]] + [round_["next_token"] for round_ in golden["rounds"]]
        self.left = [None] + [round_["sample_p"] for round_ in golden["rounds"]]

    def draw(self):
        return self.draws.pop(0)

    def pick(self, p):
        recorded = self.left.pop(0)
        if recorded is not None:
            p = p / p.sum()
            assert {int(i) for i in recorded} == set((p > 1e-7).nonzero().flatten().tolist())
            for token, share in recorded.items():
                assert p[int(token)] == pytest.approx(share, abs=1e-5)
        return self.tokens.pop(0)


def read(path):
    """A recording, and the pair that it was made with."""
    golden = json.loads(path.read_text())
    return golden, pair(path.parents[1] / "weights", golden.get("target", "target"), golden["head"])


def run(golden, models):
    if golden["temperature"] == 0:
        return decode(models, golden["prompt"], settings(golden))
    replay, builder = Replay(golden), TraceBuilder()
    for event in stream(models, golden["prompt"], settings(golden), chance=replay):
        builder.add(event)
    assert not replay.draws and not replay.tokens, "the run drew less often than the recorded one"
    return builder.trace


def lexicographic(rows):
    """The official order of retrieve_indices when sampling: -1 last. Ours is by leaf in both modes."""
    return sorted(rows, key=lambda row: [i if i >= 0 else 10**6 for i in row])


@pytest.mark.parametrize("path", TRACES, ids=lambda p: p.stem)
def test_golden(path):
    golden, models = read(path)
    trace = run(golden, models)
    assert trace.pair.head.layers == golden.get("aux_layers", [trace.pair.num_hidden_layers])
    assert trace.pair.head.vocab_size == golden.get("draft_vocab_size", trace.pair.vocab_size)
    sampled = golden["temperature"] > 0
    assert trace.output.token_ids == golden["output_ids"][len(golden["prompt"]):]
    # where the last token wanted was a bonus, the official code runs one round more
    assert len(golden["rounds"]) - 1 <= len(trace.rounds) <= len(golden["rounds"])
    for ours, theirs in zip(trace.rounds, golden["rounds"]):
        rows = len(theirs["draft_tokens"])
        assert ours.prefix_length == theirs["prefix_len"]
        assert ours.root == theirs["root_token"]
        assert ours.tokens == theirs["draft_tokens"]
        assert ours.tree.parent == theirs["node_parent"]
        assert ours.tree.depth == theirs["tree_position_ids"]
        assert ours.tree.position_ids == [theirs["prefix_len"] + d for d in theirs["tree_position_ids"]]
        scores = [0.0] + [ours.candidates.score[c - 1] for c in ours.tree.candidate[1:]]
        assert scores == pytest.approx(theirs["node_scores"], abs=1e-4)
        assert [ours.mask_row(i) for i in range(rows)] == [[b == "1" for b in row] for row in theirs["tree_mask"]]
        assert ours.target.argmax == theirs["target_argmax"]
        table = ours.tree.retrieve_indices
        assert (lexicographic(table) if sampled else table) == theirs["retrieve_indices"]
        assert ours.accept.path == theirs["accepted_nodes"]
        assert ours.committed == theirs["accepted_tokens"]
        assert ours.accept.length == theirs["accept_length"]
        assert ours.accept.bonus == theirs["next_token"]
        assert ours.cache.length_after == theirs["kv_len_after"]
        if sampled:
            assert [t.r for t in ours.accept.draws] == theirs["uniform_draws"]
        else:
            assert ours.accept.row == theirs["best_candidate"]
        check_draft(ours, theirs["draft"], golden)


def check_draft(ours, draft, golden):
    k, candidates = golden["top_k"], ours.candidates
    assert [c - 1 for c in ours.tree.candidate[1:]] == draft["selected"]
    assert [candidates.parent[i] for i in range(0, len(candidates.parent), k)] == draft["parents"]
    if "candidate_tokens" in draft:
        assert candidates.token == draft["candidate_tokens"]
        assert candidates.score == pytest.approx(draft["candidate_scores"], abs=1e-4)
    for j, beam in enumerate(draft["beams"]):
        fed = ours.layers[j + 1].expanded
        assert [candidates.token[c - 1] for c in fed] == beam["in_tokens"]
        if j + 1 < len(draft["beams"]):  # what the last pass selects is never used, and we do not compute it
            first = 1 + k + k * k * j
            assert [c - first for c in ours.layers[j + 1].selected] == beam["cs_index"]
            assert [candidates.score[c - 1] for c in ours.layers[j + 1].selected] == pytest.approx(
                beam["cs_scores"], abs=1e-4)


@pytest.mark.parametrize("path", [next(p for p in TRACES if p.parts[-3] == folder and p.stem.startswith("greedy"))
                                  for folder in ("golden", "golden3")], ids=lambda p: p.parts[-3])
def test_head_attention_masks(path, monkeypatch):
    """The head's own tree mask in every beam pass, where the recording has it."""
    from core.model.head import Drafter
    golden, models = read(path)
    seen, probe = [], Drafter.probe

    def spy(self, token_ids, states, mask, depth):
        seen.append(mask.clone())
        return probe(self, token_ids, states, mask, depth)

    monkeypatch.setattr(Drafter, "probe", spy)
    decode(models, golden["prompt"], settings(golden))
    recorded = [rows for r in golden["rounds"] for rows in r["draft"]["mask_rows"]]
    assert len(seen) == len(recorded)
    for mask, rows in zip(seen, recorded):
        assert torch.equal(mask, torch.tensor([[b == "1" for b in row] for row in rows]))
