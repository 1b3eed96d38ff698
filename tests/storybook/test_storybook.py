"""The storybook: its generator, its training, and the pair that is shipped."""

import argparse
import re
import shutil
import socket

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from core import DecodeConfig, generate
from core.measure.plain import plain
from core.pairs.checkpoint import load_target
from core.pairs.named import STORYBOOK, load_named
from core.storybook import opening, story
from core.storybook.head import copying_head
from core.storybook.lean import hidden_states
from core.storybook.train import SHAPE, Trainer, rate, rows_of
from core.storybook.write import write_shard
from core.trace.events import RunFinished
from core.trace.record import stream

HELD_OUT = [opening(seed) for seed in range(4)]


@pytest.fixture(scope="module")
def storybook():
    """Loaded as a classroom without a network would: nothing may connect."""
    def refuse(*_):
        raise AssertionError("the storybook pair asked for the network")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        yield load_named("storybook", device="cpu")


# -- the generator --


def test_a_seed_tells_one_story():
    assert story(7) == story(7)
    assert len({story(seed) for seed in range(2000)}) == 2000


def test_stories_are_clean_english():
    for seed in range(1500):
        text = story(seed)
        assert not re.search(r"[{}]|  | \n|\n\n\n|\ba [aeiou]|\ban [^aeiou]|[^.]\.\.[^.]|\.,|,\.| ,", text), text
        assert text.count('"') % 2 == 0
        assert all(part[0].isupper() or part[0] == '"' for part in text.split("\n\n")), text
        assert text[-1] in '."', text
        assert 120 < len(text.split()) < 420


def test_an_opening_is_how_its_story_begins():
    for seed in range(200):
        assert opening(seed, 9) in story(seed) and len(opening(seed, 9).split(" ")) == 9


# -- the training --


def test_the_lean_forward_is_the_librarys():
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=60, tie_word_embeddings=True, initializer_range=0.2, **SHAPE))
    tokens = torch.randint(0, 60, (2, 24))
    theirs, ours = model.model(tokens, use_cache=False).last_hidden_state, hidden_states(model, tokens, torch.float32)
    assert (theirs - ours).abs().max() < 1e-3
    for one, other in zip(*(torch.autograd.grad(out.sin().sum(), list(model.model.parameters())) for out in (theirs, ours))):
        assert (one - other).abs().max() <= 1e-3 * one.abs().max()


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="PyTorch 2.9 and newer have Muon")
def test_training_stops_and_goes_on(tmp_path, storybook):
    (tmp_path / "target").mkdir()
    shutil.copy(STORYBOOK / "target/tokenizer.json", tmp_path / "target")
    args = argparse.Namespace(out=tmp_path, minutes=1e-6, rows=1, lr=1e-3, dtype=torch.float32, seed=0)
    Trainer(args).run()
    args.minutes = 1e9
    again = Trainer(args)
    assert (again.step, again.row, again.tokens) == (1, 1, 512) and again.seconds > 0
    load_target(tmp_path / "target", torch.device("cpu"), torch.float32, None)


def test_training_rows_begin_with_a_story_and_the_rate_ends_at_zero(storybook):
    tokenizer = storybook.tokenizer.backend_tokenizer
    row = rows_of(tokenizer, 5, 1, 512)
    assert torch.equal(row, rows_of(tokenizer, 5, 1, 512))
    assert storybook.tokenizer.decode(row[0]).startswith(story(1_000_000 + 40)[:200])
    assert rate(0, 0) < 0.1 and rate(1000, 0.2) == 1 and rate(1000, 0.65) == pytest.approx(0.5) and rate(1000, 1) == 0


def test_a_new_head_makes_likelier_what_it_attends_to(storybook):
    torch.manual_seed(0)
    tokens = torch.randint(300, 2048, (50, 1))  # each attends to itself alone
    mask = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    logits = {}
    for outward in (0.0, 0.6):
        head = copying_head(storybook.target, intermediate=64, outward=outward)
        with torch.inference_mode():
            out = head(tokens, torch.zeros(50, 1, 192), torch.zeros(1, 1, dtype=torch.long), mask)
            logits[outward] = storybook.target.logits(out)[:, 0]
    more = logits[0.6] - logits[0.0]  # [50, vocab]
    rank = (more > more.gather(1, tokens)).sum(1)  # of 2,048
    assert rank.float().median() < 20


def test_the_target_writes_shards(storybook):
    shard = write_shard(storybook.target.model, storybook.tokenizer, seed=0, rows=5, length=40, dtype=torch.float32)
    again = write_shard(storybook.target.model, storybook.tokenizer, seed=0, rows=5, length=40, dtype=torch.float32)
    assert (shard.rows == again.rows).all() and shard.answers[:, -1].all() and not shard.answers[:, 0].any()
    with torch.inference_mode():
        ids = torch.from_numpy(shard.rows).long()
        features = storybook.target.model.model(ids, use_cache=False).last_hidden_state
        assert (features - torch.from_numpy(shard.features).float()).abs().max() < 2e-2  # stored in half precision
        likeliest = storybook.target.logits(features[0]).argmax(-1)[:-1]
    written = torch.from_numpy(shard.answers[0, 1:])
    assert (likeliest[written] == ids[0, 1:][written]).float().mean() > 0.95  # row 0 is greedy; near ties aside


# -- the pair --


def test_the_pair_is_small():
    assert sum(path.stat().st_size for path in STORYBOOK.rglob("*") if path.is_file()) < 12e6


def test_its_tokenizer_spells_anything(storybook):
    for text in (story(3), "Ünïcödé 你好 🙂 \t\n x = {1: 2}"):
        assert storybook.tokenizer.decode(storybook.tokenizer(text)["input_ids"]) == text
    assert storybook.eos_ids == (storybook.tokenizer.eos_token_id,) == (0,)


@pytest.mark.parametrize("settings", [{}, {"top_k": 4, "depth": 3, "total_tokens": 12},
                                      {"top_k": 1, "depth": 6, "total_tokens": 6}, {"policy": "chain", "length": 5}])
@pytest.mark.parametrize("prompt", [HELD_OUT[2], "你好, def f(x):"])
def test_greedy_is_lossless(storybook, prompt, settings):
    ids = storybook.tokenizer(prompt)["input_ids"]
    config = DecodeConfig(max_new_tokens=60, **settings)
    assert generate(storybook, ids, config) == [token for _, token in plain(storybook, ids, config)]


def test_it_drafts_well(storybook):
    """The floor of a quick test; the model card has the figure over twenty openings."""
    rounds = tokens = 0
    for prompt in HELD_OUT[:2]:
        ids = storybook.tokenizer(prompt)["input_ids"]
        end = next(e for e in stream(storybook, ids, DecodeConfig(max_new_tokens=128), prompt) if isinstance(e, RunFinished))
        rounds, tokens = rounds + end.summary["rounds"], tokens + end.summary["tau"] * end.summary["rounds"]
    assert tokens / rounds >= 3.0


def test_a_story_ends_and_sampled_stories_differ(storybook):
    ids = storybook.tokenizer("Once upon a time")["input_ids"]
    settings = {"top_k": 4, "depth": 4, "total_tokens": 16, "max_new_tokens": 700, "temperature": 1.0}
    told = [generate(storybook, ids, DecodeConfig(seed=seed, **settings)) for seed in range(2)]
    assert all(len(story) < 700 and story[-1] == 0 for story in told)
    assert told[0][:20] != told[1][:20]
