"""The text that a head is trained on: written by the target, or imported, and found again as it was."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from train_maker import VOCAB, Bytes, arguments, shards

from core.errors import UserError
from core.train.command import main
from core.train.corpus import Corpus, Shard, features_path, import_text, shard_paths
from core.train.selfgen import Author, BatchedLlama, ChatMarks, choose


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
