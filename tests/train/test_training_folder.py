"""What a training folder remembers: the same command goes on, one with another target, text, length, vocabulary or first
head is refused by a sentence that names it; and what a target cannot read is refused before it is trained on."""

import argparse
import json
import shutil

import numpy as np
import pytest
import torch
from eagle3_maker import IDS, make_head3
from pair_maker import make_head, make_target
from safetensors.torch import load_file, save_file
from toy_tokenizers import byte_level

from core.cli.flags import add_training
from core.errors import UserError
from core.train.command import main
from core.train.corpus import Shard, features_path
from core.train.selfgen import Author

TEXT = "how are you doing today, the cat sat there. " * 30


def talking(directory, **changes):
    make_target(directory, **{"vocab_size": 300, "max_position_embeddings": 64} | changes)
    byte_level().save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished training: its target, its text, its folder. Never changed: tests copy it."""
    home = tmp_path_factory.mktemp("trained")
    talking(home / "target")
    (home / "text.txt").write_text(TEXT)
    assert train(home) == 0
    return home


@pytest.fixture
def home(trained, tmp_path):
    """The same under other names: a folder remembers what is in a file, not what it is called."""
    shutil.copytree(trained, tmp_path / "home")
    return tmp_path / "home"


def train(home, *more, out="out", text="text.txt"):
    parser = argparse.ArgumentParser()
    add_training(parser)
    flags = ["--target", home / "target", "--out", home / out, "--length", 32, "--vocab", 64, "--positions", 96, "--unroll", 1,
             "--minutes", 0.002, "--device", "cpu", *(["--text", home / text] if text else []), *more]
    return main(parser.parse_args([str(flag) for flag in flags]))


def refused(home, words, *more, **how):
    before = {path: path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}
    with pytest.raises(UserError) as caught:
        train(home, *more, **how)
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence and all(str(word) in sentence for word in words), sentence
    assert {path: path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()} == before, "nothing is touched"


def remembered(home):
    return json.loads((home / "out/made.json").read_text())


def test_the_same_command_goes_on(home):
    assert set(remembered(home)) == {"--target", "--text", "--length"}
    assert train(home, "--minutes", 0.004) == 0 and train(home, "--minutes", 0.006, text=None) == 0
    shutil.copytree(home / "target", home / "elsewhere")
    assert train(home, "--target", home / "elsewhere", "--minutes", 0.008) == 0, "the same target under another name"


def test_another_target_is_refused(home):
    talking(home / "other", seed=9)
    refused(home, ["--target", "not " + str(home / "other"), "another --out"], "--target", home / "other")
    tensors = load_file(home / "target/model.safetensors")
    tensors["model.layers.1.mlp.up_proj.weight"][3] += 0.01
    save_file(tensors, home / "target/model.safetensors", metadata={"format": "pt"})
    refused(home, ["--target"])
    assert train(home, "--target", home / "other", out="out2") == 0, "elsewhere it is trained for"


def test_features_of_another_target_in_a_folder_of_shards(home):
    ids = np.random.default_rng(0).integers(0, 200, (4, 24))
    (home / "shards").mkdir()
    for name in "ab":
        Shard(ids, np.ones(ids.shape, bool)).save(home / f"shards/{name}.npz")
    assert train(home, "--data", home / "shards", out="out3", text=None) == 0
    talking(home / "other", seed=9)
    other = ["--target", home / "other", "--data", home / "shards"]
    refused(home, [home / "shards", "--target", "a copy of its shards without"], *other, out="out4", text=None)
    for path in (home / "shards").glob("*.npz"):
        (home / "copy").mkdir(exist_ok=True)
        shutil.copy(path, home / "copy")
    assert train(home, "--target", home / "other", "--data", home / "copy", out="out4", text=None) == 0
    one, two = (np.load(features_path(home / folder / "a.npz")) for folder in ("shards", "copy"))
    assert one.shape == two.shape and not np.allclose(one, two, atol=0.1)


def test_another_text_length_vocabulary_or_first_head_is_refused(home):
    (home / "b.txt").write_text(TEXT + "more")
    refused(home, ["--text", "not " + str(home / "b.txt"), "another --out"], text="b.txt")
    (home / "text.txt").write_text(TEXT[1:])
    refused(home, ["--text"])
    (home / "text.txt").write_text(TEXT)
    refused(home, ["--length 32, not 16"], "--length", 16)
    refused(home, ["scores 64 tokens", "--vocab is 48"], "--vocab", 48)
    make_head(home / "head", home / "target")
    refused(home, ["without --init", home / "head"], "--init", home / "head")


def test_a_head_of_the_other_kind_is_no_start(home):
    make_head3(home / "three", home / "target", **{IDS: [0, 1, 2]})
    with pytest.raises(UserError, match=r"--init .*three is an EAGLE-3 head.*leave --init out"):
        train(home, "--init", home / "three", out="fresh")


def test_a_text_that_did_not_do_is_not_remembered(home):
    (home / "short.txt").write_text("short")
    with pytest.raises(UserError, match="two rows"):
        train(home, out="out5", text="short.txt")
    assert train(home, "--length", 16, out="out5") == 0


def test_a_folder_of_before_is_taken_as_it_is(home):
    (home / "out/made.json").unlink()
    for note in (home / "out/data").glob("made.json"):
        note.unlink()
    assert train(home, "--minutes", 0.004) == 0 and set(remembered(home)) == {"--target", "--text", "--length"}
    (home / "out/made.json").write_text("{")
    refused(home, ["made.json cannot be read"])


# -- what a target cannot read ----------------------------------------------------------------------------------------


def test_rows_longer_than_the_context_are_refused(home):
    for more in ([], ["--write", 100]):
        refused(home, ["--length is 65", "context", "64 tokens", "--length 64 or less"], "--length", 65, *more, out="new",
                text=None if more else "text.txt")
    assert train(home, "--length", 64, out="new") == 0, "as long as the context is not too long, for tau neither"
    for ids, words in ((np.zeros((4, 65), int), ["65 tokens long", "context is 64"]), (np.full((4, 24), 300), ["0 to 299"])):
        (home / "long").mkdir(exist_ok=True)
        Shard(ids, np.ones(ids.shape, bool)).save(home / "long" / "s.npz")
        with pytest.raises(UserError) as caught:
            train(home, "--data", home / "long", out="newer", text=None)
        assert all(word in str(caught.value) for word in words), caught.value


ZEPHYR = ("{% for m in messages %}{{ '<|' + m['role'] + '|>\\n' + m['content'] + '</s>' + '\\n' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}")
CHATML = ("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")


@pytest.mark.parametrize("template", [ZEPHYR, CHATML], ids=["zephyr", "ChatML"])
def test_text_is_written_with_headers_of_many_tokens(tmp_path, template):
    from core.pairs.checkpoint import load_target
    tokenizer = byte_level(chat=False)
    tokenizer.chat_template = template
    model = load_target(talking(tmp_path / "target", max_position_embeddings=256), torch.device("cpu"), torch.float32, None)
    author = Author(model, tokenizer, rows=4, length=160, dtype=torch.float32, question_limit=4)
    marks = author.marks
    assert marks.longest > 16, "more tokens than were looked back at"
    shard = author.write(seed=1)
    text = [tokenizer.decode(row) for row in shard.rows]
    assert sum(row.count(tokenizer.decode(marks.to_assistant)) for row in text) >= 4 and shard.answers.any(1).all()
    for row, written in zip(shard.rows, shard.answers):  # an answer begins right after its header
        start = int(written.argmax())
        assert row[start - len(marks.to_assistant) : start].tolist() == marks.to_assistant
    with pytest.raises(UserError, match=r"--length is 20, .* give --length \d+ or more"):
        Author(model, tokenizer, rows=4, length=20)
    assert author.marks._ends(np.zeros((2, 3), int), [0] * 5).sum() == 0


@pytest.mark.parametrize("template", ["{% for m in messages %}{% endfor %}x", "{{ messages[0]['content'] }}{{ messages[0]['content'] }}",
                                      "{{ raise_exception('no') }}", "{{ 1 / 0 }}", "{{ messages[0]['content']['text'] }}"])
def test_a_template_without_turns_is_a_sentence(template):
    from core.train.selfgen import ChatMarks
    tokenizer = byte_level(chat=False)
    tokenizer.chat_template = template
    with pytest.raises(UserError, match=r"chat template does not show its turns .* with --text"):
        ChatMarks(tokenizer)
