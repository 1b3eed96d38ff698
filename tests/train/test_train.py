"""The loop: it learns, goes on where it was stopped, and nobody loses work."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from train_maker import GOLDEN, arguments, shards

from core.errors import UserError
from core.model.target import Target
from core.pairs.heads import load_head
from core.train.command import Trainer, main
from core.train.corpus import Shard
from core.train.training import Team, learning_rate, measure_tau, save_head


def flat(trainer) -> torch.Tensor:
    return torch.cat([w.detach().flatten() for w in trainer.head.parameters()])


def test_training_learns_and_resumes_to_the_same_weights(model, tmp_path):
    paths = shards(model, tmp_path / "data", count=3)
    args = arguments(tmp_path / "out", "--held-out", paths[0], "--lr", 0.02, "--minutes", 1)
    (tmp_path / "out").mkdir()
    straight = Trainer(args, model, [tmp_path / "data"], torch.float32, Team())
    straight.open_corpus(straight.listed())
    batches = [b for epoch in range(20) for b in straight.corpus.schedule(epoch, args.positions, 0)]
    numbers = [straight.step(b, seconds=0.0) for b in batches]
    assert numbers[-1][0] / numbers[-1][1] < 0.8 * numbers[0][0] / numbers[0][1]

    half = Trainer(args, model, [tmp_path / "data"], torch.float32, Team())
    half.open_corpus(half.listed())
    for batch in batches[:7]:
        half.step(batch, seconds=0.0)
    half.save()
    again = Trainer(args, model, [tmp_path / "data"], torch.float32, Team())
    assert again.progress.step == 7
    again.open_corpus(again.listed())
    for batch in batches[7:]:
        again.step(batch, seconds=0.0)
    assert torch.equal(flat(again), flat(straight))


def test_a_stopped_run_goes_on_and_ends(model, tmp_path, capsys):
    paths = shards(model, tmp_path / "data")
    (tmp_path / "out").mkdir()
    args = arguments(tmp_path / "out", "--held-out", paths[0], "--minutes", 0.02)
    team = Team()
    team.stop = True
    assert Trainer(args, model, [tmp_path / "data"], torch.float32, team).run() == 130
    assert Trainer(args, model, [tmp_path / "data"], torch.float32, Team()).run() == 0
    lines = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    assert lines[0]["step"] == 1 and lines[-1]["step"] > 1 and 0 <= lines[-1]["held_out_agreement"] <= 1
    assert len(json.loads((tmp_path / "out" / "head" / "draft_vocab.json").read_text())["token_ids"]) == 32
    load_head(tmp_path / "out" / "head", Target(model))


def test_the_command_from_tokens_to_tau(tmp_path, capsys):
    """Features are made, the head is trained and saved, and the decoder measures it; bad flags are one sentence."""
    (tmp_path / "data").mkdir()
    for i in range(2):
        ids = np.random.default_rng(i).integers(0, 40, (5, 24))
        Shard(ids, np.ones(ids.shape, bool)).save(tmp_path / "data" / f"s{i}.npz")
    flags = ["--target", str(GOLDEN / "weights/target"), "--data", str(tmp_path / "data")]
    args = arguments(tmp_path / "out", "--minutes", 0.02, *flags)
    assert main(args) == 0
    said = capsys.readouterr().out
    assert "features of s1.npz: 2 of 2" in said and "tau 1." in said
    with pytest.raises(UserError, match="--unroll is 0"):
        main(arguments(tmp_path / "out", *flags, "--unroll", 0))
    with pytest.raises(UserError, match="no tokenizer"):
        main(arguments(tmp_path / "out", *flags, "--write", 100))
    with pytest.raises(UserError, match="besides the held-out"):
        main(arguments(tmp_path / "other", "--target", flags[1], "--data", tmp_path / "none", "--held-out",
                       tmp_path / "data/s0.npz"))


def test_a_saved_head_loads_unchanged(model, head, tmp_path):
    save_head(head, tmp_path, torch.float32)
    loaded = load_head(tmp_path, Target(model))
    assert all(torch.equal(a, b) for a, b in zip(loaded.state_dict().values(), head.state_dict().values()))
    assert loaded.config.rope_parameters["rope_theta"] == head.config.rope_parameters["rope_theta"]


def test_tau_is_the_decoders(golden_pair):
    text = np.random.default_rng(0).integers(0, golden_pair.target.vocab_size, (2, 24))
    tau = measure_tau(golden_pair, Shard(text, np.ones(text.shape, bool)), prompts=2, new_tokens=8)
    assert 1 <= tau <= 7


def test_rate_rises_then_falls_to_zero():
    rates = [learning_rate(step, step / 100, 10) for step in range(101)]
    assert rates[0] == pytest.approx(0.1) and rates[100] == pytest.approx(0) and rates.index(max(rates)) == 9


SHARE = """
import sys, torch
sys.path[:0] = [{root!r}, {root!r} + "/tests", {tests!r}]
torch.set_num_threads(1)
from transformers import LlamaForCausalLM
from train_maker import *
from test_train import *
with Team() as team:
    model = LlamaForCausalLM.from_pretrained({model!r}).eval().requires_grad_(False)
    args = arguments(Path({out!r}) / str(team.rank), "--held-out", {held!r})
    trainer = Trainer(args, model, [Path({data!r})], torch.float32, team)
    trainer.open_corpus(trainer.listed())
    numbers = trainer.step(trainer.corpus.schedule(0, 72, 0)[0], 0.0)
    torch.save([flat(trainer), numbers.tolist()], f"{out}/{{team.rank}}.pt")
"""


def test_two_processes_take_the_same_step_as_one(model, tmp_path):
    """Three rows, two processes: one of them does two. The step must be that of one process that does three."""
    paths = shards(model, tmp_path / "data")
    model.save_pretrained(tmp_path / "model")
    here = Path(__file__).resolve()
    code = SHARE.format(root=str(here.parents[2]), tests=str(here.parent), model=str(tmp_path / "model"),
                        out=str(tmp_path), held=str(paths[0]), data=str(tmp_path / "data"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1"}
    running = [subprocess.Popen([sys.executable, "-c", code], env={**shared, "RANK": str(rank)}) for rank in range(2)]
    assert [process.wait(timeout=400) for process in running] == [0, 0]
    args = arguments(tmp_path / "alone", "--held-out", paths[0])
    alone = Trainer(args, model, [tmp_path / "data"], torch.float32, Team())
    alone.open_corpus(alone.listed())
    numbers = alone.step(alone.corpus.schedule(0, 72, 0)[0], 0.0)
    for rank in range(2):
        weights, counted = torch.load(tmp_path / f"{rank}.pt")
        assert torch.allclose(weights, flat(alone), atol=1e-6) and counted == pytest.approx(numbers.tolist(), rel=1e-5)
