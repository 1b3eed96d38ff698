"""What the recorder writes of a row of logits."""

import pytest
import torch
from pair_files import edit_tensors
from pair_maker import make_head, make_target

from core import DecodeConfig, decode, load_pair
from core.trace.record import _chosen_first, _top


@pytest.mark.parametrize("vocab", [96, 1536], ids=["plain", "by blocks"])
@pytest.mark.parametrize("alike", [2, 8, 96])
@pytest.mark.parametrize("temperature", [0, 1.0])
def test_at_a_tie_the_likeliest_begin_with_the_token_that_was_chosen(tmp_path, vocab, alike, temperature):
    """Rows of the lm_head repeat, so that this many tokens have the same logit, far from each other in the vocabulary."""
    target = make_target(tmp_path / "target", vocab_size=vocab)
    edit_tensors(target, lambda t: t.update({"lm_head.weight": t["lm_head.weight"][: vocab // alike].repeat(alike, 1)}))
    pair = load_pair(target, make_head(tmp_path / "head", target), device="cpu")
    settings = DecodeConfig(top_k=4, depth=2, total_tokens=12, max_new_tokens=8, temperature=temperature)
    for r in decode(pair, [5, 17, 3, 8], settings).rounds:
        assert [row[0][0] for row in r.target.top] == r.target.argmax
        for row in r.target.top:
            assert len({token for token, _ in row}) == 5 and len({p for _, p in row[:alike]}) == 1, row
        if not temperature:
            assert r.target.top[r.accept.bonus_from][0][0] == r.accept.bonus


def test_where_nothing_is_tied_nothing_is_moved():
    p = torch.randn(7, 1280, generator=torch.Generator().manual_seed(0)).softmax(-1)
    best, ids = _top(p, 5)
    assert torch.equal(ids, p.topk(5).indices)
    assert _chosen_first(p, best, ids, p.argmax(-1))[1] is ids
