"""A long prompt is read in pieces, by the target and by the head, and gives what one pass over it gives."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from pair_maker import make_head
from test_lossless import recompute
from test_rope import prompt_of, truth, write

from core import DecodeConfig, decode, generate, load_pair
from core.decoder import Prefilled, Reading, rounds
from core.measure.check import check
from core.measure.plain import plain
from core.model import target
from core.model.eagle import EagleHead

PROMPT = [1, *((5 + 7 * i) % 97 for i in range(40))]
CONFIG = DecodeConfig(top_k=4, depth=3, total_tokens=20, max_new_tokens=12)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("piece", [1, 7, 13, 40, 41])
def test_pieces_give_what_one_pass_gives(golden_pair, monkeypatch, piece, masked):
    if masked:  # where PyTorch lacks the operator
        monkeypatch.setattr(target, "can_attend", lambda: False)
    whole = decode(golden_pair, PROMPT, CONFIG)
    monkeypatch.setattr(target, "PIECE", piece)
    trace = decode(golden_pair, PROMPT, CONFIG)
    assert trace.output.token_ids == recompute(golden_pair, PROMPT, 12) == whole.output.token_ids
    assert [token for _, token in plain(golden_pair, PROMPT, CONFIG)] == trace.output.token_ids
    assert check(golden_pair, PROMPT, CONFIG, trace.output.token_ids)["lossless"]
    for one, other in zip(whole.rounds, trace.rounds):  # the head has remembered the prompt as if it had attended to it
        assert one.candidates.token == other.candidates.token
        assert one.candidates.score == pytest.approx(other.candidates.score, abs=2e-3)


def test_no_pass_holds_more_than_a_piece_of_the_mask(random_pair, monkeypatch):
    monkeypatch.setattr(target, "PIECE", 8)
    shapes = []

    def see(module, args, kwargs):
        shapes.append(kwargs["attention_mask"].shape[-2:] if "attention_mask" in kwargs else args[3].shape[-2:])

    handles = [random_pair.target.model.model.register_forward_pre_hook(see, with_kwargs=True),
               random_pair.head.register_forward_pre_hook(see, with_kwargs=True)]
    try:
        generate(random_pair, PROMPT, DecodeConfig(top_k=2, depth=1, total_tokens=3, max_new_tokens=4))
    finally:
        for handle in handles:
            handle.remove()
    assert shapes and max(rows for rows, _ in shapes) <= 8 and max(keys for _, keys in shapes) > len(PROMPT)


def test_how_far_a_prompt_is_read_is_told_and_it_can_be_stopped(random_pair, monkeypatch):
    monkeypatch.setattr(target, "PIECE", 10)
    stages = rounds(random_pair, PROMPT, CONFIG)
    told = [stage for stage, _ in zip(stages, range(5))]
    assert [(stage.read, stage.total) for stage in told[:-1]] == [(9, 41), (18, 41), (27, 41), (36, 41)]
    assert all(isinstance(stage, Reading) for stage in told[:-1]) and isinstance(told[-1], Prefilled)
    passes = []
    handle = random_pair.target.model.model.register_forward_pre_hook(lambda *_: passes.append(1))
    stages = rounds(random_pair, PROMPT, CONFIG)
    next(stages)
    stages.close()
    handle.remove()
    assert len(passes) == 1


def test_a_short_prompt_is_one_piece(random_pair):
    assert not any(isinstance(stage, Reading) for stage in rounds(random_pair, PROMPT, CONFIG))


def test_a_head_remembers_what_it_would_have_read(random_pair):
    """Keys and values of `remember`, beside those that a whole pass of the layer writes."""
    pair, tokens = random_pair, torch.tensor(PROMPT)
    features = torch.randn(len(tokens), pair.target.hidden_size)
    positions = torch.arange(len(tokens))[None]
    caches = []
    with torch.inference_mode():
        for way in (EagleHead.remember, EagleHead.forward):
            cache = pair.target.new_cache(64)
            mask = () if way is EagleHead.remember else (torch.ones(1, 1, len(tokens), len(tokens)).tril().bool(),)
            way(pair.head, tokens[None], features[None], positions, *mask, cache=cache)
            caches.append(next(iter(cache._blocks.values()))[0])
    assert caches[0].abs().sum() > 0 and torch.allclose(*caches, atol=1e-5)


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_every_piece_is_turned_as_the_whole_prompt_is(kind, tmp_path, monkeypatch):
    folder = write(tmp_path / "target", kind)
    pair = load_pair(folder, make_head(tmp_path / "head", folder), device="cpu")
    monkeypatch.setattr(target, "PIECE", 16)
    for length in (38, 90):  # across the border with the first tokens, and far beyond it
        assert decode(pair, prompt_of(length), CONFIG).output.token_ids == truth(folder, prompt_of(length), 12)


def test_threads_may_share_a_pair(random_pair, monkeypatch):
    """While one reads a long prompt in pieces, another verifies a tree with the same layers."""
    monkeypatch.setattr(target, "PIECE", 8)
    prompts = [PROMPT, PROMPT[:5], PROMPT[:29], PROMPT[:3]]
    alone = [recompute(random_pair, prompt, 12) for prompt in prompts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda prompt: generate(random_pair, prompt, CONFIG), prompts * 6))
    assert together == alone * 6
