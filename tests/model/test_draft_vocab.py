"""A draft vocabulary makes the head cheaper and never changes the output; few-row products are the same products."""

import json

import pytest
import torch
from pair_maker import make_head, make_target
from torch.nn import functional as F

from core import CheckpointError, DecodeConfig, DecodeError, decode, generate, load_pair
from core.model import linear
from core.model.linear import FewRowsLinear, layer_of, speed_up, usual_form


@pytest.fixture(scope="module")
def ranked_pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranked")
    target, head = make_target(folder / "target"), folder / "head"
    make_head(head, target)
    (head / "draft_vocab.json").write_text(json.dumps({"token_ids": list(range(0, 97, 3))}))
    return load_pair(target, head, device="cpu")


@pytest.mark.parametrize("size", [4, 20, 33])
def test_only_frequent_tokens_are_drafted_and_the_output_is_the_same(ranked_pair, size):
    config = DecodeConfig(top_k=4, depth=2, total_tokens=16, max_new_tokens=24, draft_vocab=size)
    trace = decode(ranked_pair, [5, 6, 7], config)
    assert {token for r in trace.rounds for token in r.candidates.token} <= set(range(0, 3 * size, 3))
    full = DecodeConfig(**{**config.to_dict(), "draft_vocab": 0})
    assert trace.output.token_ids == generate(ranked_pair, [5, 6, 7], full)


def test_scores_are_those_of_the_full_output_renormalised(ranked_pair):
    config = DecodeConfig(top_k=4, depth=0, total_tokens=4, max_new_tokens=2)
    full = decode(ranked_pair, [5, 6, 7], DecodeConfig(**{**config.to_dict(), "top_k": 97, "total_tokens": 97})).rounds[0]
    some = decode(ranked_pair, [5, 6, 7], DecodeConfig(**{**config.to_dict(), "draft_vocab": 33})).rounds[0]
    log_prob = dict(zip(full.candidates.token, full.candidates.log_prob))
    mass = torch.tensor([log_prob[i] for i in range(0, 97, 3)]).logsumexp(0)
    for token, ours in zip(some.candidates.token, some.candidates.log_prob):
        assert ours == pytest.approx(log_prob[token] - float(mass), abs=1e-4)


def test_a_draft_vocabulary_that_cannot_be(ranked_pair, random_pair):
    with pytest.raises(DecodeError, match="ranks 33 tokens by frequency; give at most 33"):
        decode(ranked_pair, [1], DecodeConfig(draft_vocab=34))
    with pytest.raises(DecodeError, match="ranks no tokens by frequency; give 0"):
        decode(random_pair, [1], DecodeConfig(draft_vocab=34))
    with pytest.raises(ValueError, match="fewer tokens than the 10 children"):
        DecodeConfig(draft_vocab=9)


@pytest.mark.parametrize("content", ['{"token_ids": [1, 1]}', '{"token_ids": [97]}', '{"token_ids": "all"}', "{}", "[1]",
                                     '{"token_ids": [true]}'])
def test_a_broken_ranking_is_refused(tmp_path, content):
    target, head = make_target(tmp_path / "target"), tmp_path / "head"
    make_head(head, target)
    (head / "draft_vocab.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"draft_vocab\.json"):
        load_pair(target, head, device="cpu")


@pytest.mark.parametrize("laid_out", [True, False])
@pytest.mark.parametrize("shape", [(24,), (1, 24), (2, 24), (3, 24), (9, 24), (70, 24), (1, 1, 24), (2, 3, 24), (0, 24)])
def test_few_rows_give_the_same_product(shape, laid_out, monkeypatch):
    if not laid_out:  # a weight too large to be held twice
        monkeypatch.setattr(linear, "PACKED_LIMIT", 0)
    x, weight = torch.randn(shape), torch.randn(40, 24)
    layer = speed_up(layer_of(weight))
    assert (layer.packed is not None) == (laid_out and linear._can_pack())
    with torch.inference_mode():
        assert torch.allclose(layer(x), F.linear(x, weight), atol=1e-5)


def test_gradients_go_the_usual_way():
    layer = speed_up(torch.nn.Linear(24, 40, bias=False))
    x = torch.randn(5, 24, requires_grad=True)
    layer(x).sum().backward()
    assert torch.allclose(x.grad, layer.weight.sum(0).expand(5, 24), atol=1e-5)
    assert torch.allclose(layer.weight.grad, x.detach().sum(0).expand(40, 24), atol=1e-5)


def test_only_layers_it_suits_are_changed():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 4),
                                torch.nn.Linear(4, 4, bias=False, dtype=torch.bfloat16))
    speed_up(model)
    assert [type(layer) is FewRowsLinear for layer in model] == [True, False, False]
    assert [*model.state_dict()] == ["0.weight", "1.weight", "1.bias", "2.weight"]
    with usual_form(model):
        assert not any(type(layer) is FewRowsLinear for layer in model)
    assert [type(layer) is FewRowsLinear for layer in model] == [True, False, False]
