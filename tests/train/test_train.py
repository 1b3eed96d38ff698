"""Training: the unrolled head is the decoder's own, the loss is its formula, and nobody loses work.

All on a random Llama of two layers and a tokenizer of single bytes.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from transformers import LlamaConfig, LlamaForCausalLM

from core.cli.flags import add_training
from core.errors import UserError
from core.model.head import Drafter
from core.model.target import Target
from core.pairs.heads import load_head
from core.train.command import Trainer, main
from core.train.corpus import Corpus, Shard, add_features, features_path, import_text, shard_paths
from core.train.objective import SoftCrossEntropy, chain_lengths, head_loss, unroll
from core.train.selfgen import Author, BatchedLlama, ChatMarks, choose
from core.train.training import Team, fresh_head, learning_rate, measure_tau, save_head

VOCAB = 300
GOLDEN = Path(__file__).resolve().parents[1] / "golden"


class Bytes:
    """A tokenizer of bytes, with a chat template; 256 and 257 open and close a turn."""

    chat_template, eos_token_id = "yes", 257

    def __call__(self, text, add_special_tokens=False):
        marks = {"\x01": 256, "\x02": 257}
        return {"input_ids": [marks.get(c, ord(c) % 256) for c in text]}

    def apply_chat_template(self, turns, tokenize, add_generation_prompt=False):
        text = "".join(f"\x01{t['role'][0]}\n{t['content']}\x02\n" for t in turns)
        return "\x01s\nS\x02\n" + text + ("\x01a\n" if add_generation_prompt else "")


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = LlamaConfig(hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=6,
                         num_key_value_heads=2, vocab_size=VOCAB, max_position_embeddings=128, initializer_range=0.3,
                         tie_word_embeddings=False)
    return LlamaForCausalLM(config).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def head(model):
    made = fresh_head(Target(model), seed=1)
    with torch.no_grad():
        for weight in made.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(2))
    return made


@pytest.fixture(scope="module")
def text(model):
    ids = torch.randint(0, VOCAB, (3, 20), generator=torch.Generator().manual_seed(3))
    return ids, model.model(ids).last_hidden_state


def shards(model, where: Path, count=2, rows=5, length=24) -> list[Path]:
    where.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        ids = np.random.default_rng(i).integers(0, 40, (rows, length))
        Shard(ids, np.ones(ids.shape, bool)).save(where / f"s{i}.npz")
        add_features(where / f"s{i}.npz", model, torch.float32)
    return shard_paths([where])


def arguments(out: Path, *more) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_training(parser)
    return parser.parse_args(["--target", "unused", "--out", str(out), "--positions", "96", "--unroll", "2",
                              "--vocab", "32", "--device", "cpu", *map(str, more)])


# -- the objective ----------------------------------------------------------------------------------------------------


def test_unrolled_rows_are_what_the_drafter_computes(model, head, text):
    """From every start: observe the true features, then probe the row's own tokens one beam row at a time."""
    ids, features = text
    steps = 4
    outputs = unroll(head, model.model.embed_tokens(ids[:, 1:]), features[:, :-1], steps, torch.float32)
    for row in range(2):
        for start in range(1, ids.shape[1] - steps):  # the last true row of the draft
            drafter = Drafter(head, Target(model), 64)
            out, _ = drafter.observe(ids[row, 1 : start + 2], features[row, : start + 1])
            assert torch.allclose(out[0], outputs[0][row, start], atol=1e-5)
            for step in range(1, steps):
                out, _ = drafter.probe(ids[row, start + step + 1][None], out, torch.ones(1, step, dtype=torch.bool), step)
                assert torch.allclose(out[0], outputs[step][row, start + step], atol=1e-5)


def test_first_step_is_the_module(model, head, text):
    ids, features = text
    rows = ids.shape[1] - 1
    mask = torch.ones(1, 1, rows, rows, dtype=torch.bool).tril()
    whole = head(ids[:, 1:], features[:, :-1], torch.arange(rows)[None], mask)
    (output,) = unroll(head, model.model.embed_tokens(ids[:, 1:]), features[:, :-1], 1, torch.float32)
    assert torch.allclose(output, whole, atol=1e-5)


def test_cross_entropy_and_its_gradient():
    torch.manual_seed(0)
    x = torch.randn(150, 8, requires_grad=True)  # more than one chunk
    weight, teacher = torch.randn(50, 8), torch.softmax(torch.randn(150, 50), -1)
    log_q = torch.log_softmax(x @ weight.T, -1)
    naive = -(teacher * log_q).sum()
    (expected,) = torch.autograd.grad(naive, x)
    loss, agreement = SoftCrossEntropy.apply(x, teacher, teacher.argmax(-1), weight, True)
    (got,) = torch.autograd.grad(3 * loss, x)
    assert torch.allclose(loss, naive, rtol=1e-5) and torch.allclose(got, 3 * expected, atol=1e-4)
    assert agreement == (log_q.argmax(-1) == teacher.argmax(-1)).sum()


def test_loss_is_its_formula(model, head, text):
    ids, features = text
    scored = torch.rand(ids.shape, generator=torch.Generator().manual_seed(0)) < 0.6
    some = torch.tensor([5, 0, 17, 200, 31])
    lm_head, embedding, decay, weight = model.lm_head.weight[some], model.model.embed_tokens.weight, 0.5, 0.7
    loss, count, agreements = head_loss(head, embedding, lm_head, ids, features, scored, steps=2, feature_weight=weight,
                                        decay=decay, dtype=torch.float32)
    outputs = unroll(head, embedding[ids[:, 1:]], features[:, :-1], 2, torch.float32)
    total, seen, agreed = 0.0, 0, 0
    for b in range(len(ids)):
        for r in range(1, ids.shape[1] - 1):  # two steps: row 0 has no past of its own
            if not scored[b, min(r + 2, ids.shape[1] - 1)]:
                continue
            seen += 1
            p = torch.softmax(lm_head @ features[b, r + 1], 0)
            agreed += int(p.argmax() == (lm_head @ outputs[0][b, r]).argmax())
            for step in range(2):
                out = outputs[step][b, r]
                entropy = -(p * torch.log_softmax(lm_head @ out, 0)).sum()
                total += decay**step * (entropy + weight * F.smooth_l1_loss(out, features[b, r + 1]))
    assert count == seen and agreements[0] == agreed
    assert torch.allclose(loss, total / (1 + decay), rtol=1e-4)


def test_no_scored_position_is_no_gradient_and_no_error(model, head, text):
    ids, features = text
    head = fresh_head(Target(model))
    loss, count, _ = head_loss(head, model.model.embed_tokens.weight, model.lm_head.weight, ids, features,
                               torch.zeros(ids.shape, dtype=torch.bool), steps=2, feature_weight=1.0, decay=0.8,
                               dtype=torch.float32)
    assert count == 0 and all(float(g.abs().sum()) == 0 for g in torch.autograd.grad(loss, list(head.parameters())))


def test_chain_length_is_that_of_a_real_draft(model, head, text):
    """Against the drafter at work: greedy, feeding itself, until it misses the text."""
    ids, features = text
    ids = ids % 2  # a tiny vocabulary, so that some guesses are right
    features = model.model(ids).last_hidden_state
    some, steps = torch.arange(2), 3
    got = chain_lengths(head, model.model.embed_tokens.weight, model.lm_head.weight[some], some, ids, features,
                        torch.ones(ids.shape, dtype=torch.bool), steps, torch.float32)
    expected = []
    for row in range(len(ids)):
        for start in range(ids.shape[1] - 1 - steps):
            drafter = Drafter(head, Target(model), 64)
            out, logits = drafter.observe(ids[row, 1 : start + 2], features[row, : start + 1])
            right = 0
            while right < steps and logits[0, :2].argmax() == ids[row, start + 2 + right]:
                right += 1
                if right < steps:
                    token, mask = ids[row, start + 1 + right][None], torch.ones(1, right, dtype=torch.bool)
                    out, logits = drafter.probe(token, out, mask, right)
            expected.append(right)
    assert got.tolist() == expected and max(expected) == steps and min(expected) == 0


# -- the text ---------------------------------------------------------------------------------------------------------


def test_batched_llama_is_the_target(model):
    ids = torch.randint(0, VOCAB, (4, 12))
    llama = BatchedLlama(model, torch.float32, 4, 12)
    steps = torch.stack([llama.step(ids[:, t], t) for t in range(12)], 1)
    assert torch.allclose(steps, model.model(ids).last_hidden_state, atol=1e-4)


def test_target_writes_turns(model):
    author = Author(model, Bytes(), rows=10, length=64, dtype=torch.float32, question_limit=8)
    shard = author.write(seed=4)
    marks = author.marks
    assert shard.rows.shape == (10, 64) and (shard.rows[:, : len(marks.user)] == marks.user).all()
    hidden = model.model(torch.from_numpy(shard.rows).long()).last_hidden_state
    assert torch.allclose(torch.from_numpy(shard.features).float(), hidden, atol=2e-2)
    assert shard.answers.any(1).sum() >= 8 and not shard.answers[:, : len(marks.user)].any()
    choice = model.lm_head(hidden).argmax(-1).numpy()
    greedy = np.arange(10) % 5 < 2  # rows 0 and 1 of five answer at temperature 0
    written = shard.answers[:, 1:] & greedy[:, None]
    assert (choice[:, :-1][written] == shard.rows[:, 1:][written]).all()
    assert (author.write(seed=4).rows == shard.rows).all()
    assert author.write(seed=4, stop=lambda: True) is None


def test_choice_keeps_to_the_likely_tokens():
    logits = torch.tensor([[0.0, 9.0, 1.0, 8.9]]).repeat(4000, 1)
    picked = choose(logits, torch.ones(4000), torch.Generator().manual_seed(0))
    assert set(picked.tolist()) == {1, 3} and abs((picked == 1).float().mean() - 0.525) < 0.04
    assert (choose(logits, torch.zeros(4000), torch.Generator()) == 1).all()


def test_answers_are_found_by_their_headers():
    marks = ChatMarks(Bytes())
    ids = Bytes()("\x01s\nS\x02\n\x01u\nhi\x02\n\x01a\nyes\x02\n\x01u\nno\x02\n")["input_ids"]
    found = marks.answers(np.array([ids]))[0]
    assert [chr(t) if t < 256 else "|" for t, a in zip(ids, found) if a] == ["y", "e", "s", "|", "\n", "|", "u", "\n"]
    with pytest.raises(UserError, match="no chat template"):
        ChatMarks(type("Plain", (), {"chat_template": None})())


def test_imported_text(tmp_path):
    lines = [{"text": "x" * 30}, {"messages": [{"role": "user", "content": "q"}]}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    first, second = map(Shard.load, import_text(tmp_path / "a.jsonl", Bytes(), 16, tmp_path))
    assert first.rows.shape == second.rows.shape == (1, 16), "two rows are two shards: one is held out"
    assert first.answers.all() and second.answers.all() and second.rows[0, 14] == Bytes.eos_token_id
    (tmp_path / "b.jsonl").write_text('{"words": 1}')
    with pytest.raises(UserError, match="line 1 "):
        import_text(tmp_path / "b.jsonl", Bytes(), 16, tmp_path)
    (tmp_path / "c.txt").write_text("short")
    with pytest.raises(UserError, match=r"holds 6 tokens.*two rows of 16 .* a text of 32 tokens"):
        import_text(tmp_path / "c.txt", Bytes(), 16, tmp_path)
    assert shard_paths([tmp_path]) == [tmp_path / "text-00000.npz", tmp_path / "text-00001.npz"], "nothing else is left"


def test_imported_text_is_cut_into_shards_of_so_many_rows(tmp_path):
    (tmp_path / "a.txt").write_text("abcdefghij" * 16)
    paths = import_text(tmp_path / "a.txt", Bytes(), 8, tmp_path, rows_per_shard=6)
    read = [Shard.load(path).rows for path in paths]
    assert [len(rows) for rows in read] == [2, 6, 6, 6] and paths == shard_paths([tmp_path])
    assert bytes(np.concatenate(read).ravel().astype(np.uint8)) == b"abcdefghij" * 16
    (tmp_path / "b").mkdir()
    assert [len(Shard.load(p).rows) for p in import_text(tmp_path / "a.txt", Bytes(), 8, tmp_path / "b")] == [2, 18]


def test_a_short_text_trains_a_head_for_the_storybook(tmp_path, capsys, caplog):
    """What the README's worked example does, in less text and a moment."""
    storybook = Path(__file__).resolve().parents[2] / "assets/storybook/target"
    told = subprocess.run([sys.executable, "-m", "core.storybook", "--stories", "6"], capture_output=True, text=True,
                          cwd=storybook.parents[2], check=True).stdout
    assert [list(json.loads(line)) for line in told.splitlines()] == [["text"]] * 6
    (tmp_path / "stories.txt").write_text("\n\n".join(json.loads(line)["text"] for line in told.splitlines()))
    flags = ["--target", str(storybook), "--text", tmp_path / "stories.txt", "--length", 64]
    assert main(arguments(tmp_path / "out", "--minutes", 0.01, *flags)) == 0
    said = capsys.readouterr()
    assert "tau " in said.out and "longer than" not in said.err + caplog.text
    assert (tmp_path / "out/head/config.json").exists()
    for text, length, words in (("Once upon a time.", 64, "a text of 128 tokens"), ("Once " * 40, 64, "or more")):
        (tmp_path / "short.txt").write_text(text)
        with pytest.raises(UserError, match=words):
            main(arguments(tmp_path / f"short{len(text)}", "--target", str(storybook), "--text", tmp_path / "short.txt",
                           "--length", length))


def test_what_cannot_be_read_or_written_is_found_before_the_target_is_loaded(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "latin").write_bytes(b"\xe9t\xe9")
    where = tmp_path / "out"  # its target, `unused`, does not exist: to look for it would be another sentence
    for out, more, words in ((where, ["--text", tmp_path / "none"], "none cannot be read .*No such file"),
                             (where, ["--text", tmp_path], "Is a directory"),
                             (where, ["--text", tmp_path / "latin"], "as UTF-8 text"),
                             (tmp_path / "file", [], "file is a file; give a directory"),
                             (tmp_path / "file/below", [], "file is a file; give a directory")):
        with pytest.raises(UserError, match=words):
            main(arguments(out, *more))
        assert not where.exists()


def test_a_schedule_visits_every_row_once(model, tmp_path):
    shards(model, tmp_path)
    long = np.zeros((3, 30), int)
    Shard(long, np.ones(long.shape, bool), np.zeros((3, 30, 24), np.float16)).save(tmp_path / "z.npz")
    (tmp_path / ".half.npz.123").write_bytes(b"")
    corpus = Corpus(shard_paths([tmp_path]))
    batches = corpus.schedule(0, 72, seed=0)
    assert sorted(tuple(m) for b in batches for m in b) == [(i, r) for i, n in enumerate((5, 5, 3)) for r in range(n)]
    assert all(len(b) <= 3 for b in batches)
    assert all((a == b).all() for a, b in zip(batches, corpus.schedule(0, 72, seed=0)))
    batch = corpus.load(batches[0])
    assert batch.features.shape[:2] == batch.tokens.shape == batch.scored.shape
    assert corpus.frequent(1, VOCAB)[0] == np.bincount(np.concatenate([s.rows.ravel() for s in corpus.shards])).argmax()
    features_path(tmp_path / "z.npz").unlink()
    with pytest.raises(UserError, match="no features"):
        Corpus(shard_paths([tmp_path]))


# -- the loop ---------------------------------------------------------------------------------------------------------


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
