"""Tokenizers as they are published beside Llamas: what they say is what the tokenizer itself says."""

import io
import json
import shutil

import pytest
from cli import call, refused
from pair_maker import make_head, make_target
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from toy_tokenizers import byte_fallback, byte_level
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from core.pairs import tokenizer as module
from core.pairs.checkpoint import CheckpointError
from core.pairs.tokenizer import load_tokenizer
from core.trace import Trace
from core.trace.words import Text, Words


def word_level(decoder=None):
    words = {word: i for i, word in enumerate(["[UNK]", *"abcdefgh", "the", "cat", "##s", "▁x", "<0x41>"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if decoder is not None:
        tokenizer.decoder = decoder
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


# -- tokenizers whose decoder is none, or one of its own ----------------------------------------------------------------


@pytest.mark.parametrize("decoder", [None, decoders.WordPiece(cleanup=False), decoders.Metaspace("_"), decoders.Fuse()],
                         ids=["none", "WordPiece", "other space", "Fuse"])
def test_entries_put_together_are_what_the_tokenizer_decodes(decoder):
    tokenizer = word_level(decoder)
    ids = tokenizer("the cat ##s a b the ▁x c")["input_ids"]
    entries = [Words(tokenizer).entry(i)["text"] for i in ids]
    assert "".join(entries).lstrip() == tokenizer.decode(ids).lstrip()
    text = Text(tokenizer, ids[:1])
    shown = [text.add([i]) for i in ids[1:]] + [text.add([], last=True)]
    assert "".join(shown) == text.text == tokenizer.decode(ids).removeprefix("the")


def test_a_byte_level_tokenizer_without_its_decoder_is_read_as_it_decodes():
    tokenizer = byte_level()
    tokenizer.backend_tokenizer.decoder = None
    ids = tokenizer("the cat")["input_ids"]
    assert "".join(Words(tokenizer).entry(i)["text"] for i in ids).strip() == tokenizer.decode(ids)


def test_a_run_with_one(capsys, tmp_path):
    target = make_target(tmp_path / "target", vocab_size=14)
    word_level().save_pretrained(target)
    flags = ["--target", target, "--draft", make_head(tmp_path / "head", target), "--device", "cpu", "--top-k", "3", "--depth", "2"]
    code, _, err = call(capsys, "run", *flags, "--prompt", "the cat", "--max-new-tokens", "9", "--check", "--trace", tmp_path / "t.json")
    assert code == 0 and err == ""
    trace, own = Trace.load(tmp_path / "t.json"), AutoTokenizer.from_pretrained(target)
    assert trace.prompt.token_ids == own("the cat")["input_ids"] and trace.check.lossless
    said = own.decode([*trace.prompt.token_ids, *trace.output.token_ids], skip_special_tokens=True)
    assert "the cat" + trace.output.text == said
    refused(capsys, ["run", *flags, "--prompt", "  "], "prompt is empty")  # to this tokenizer, spaces are nothing


def test_a_word_that_has_no_id_is_a_sentence(capsys, tmp_path):
    target = make_target(tmp_path / "target", vocab_size=14)
    tokenizer = Tokenizer(models.WordLevel({"a": 0}, unk_token="[UNK]"))
    tokenizer.save(str(target / "tokenizer.json"))
    (target / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    refused(capsys, ["run", "--target", target, "--draft", make_head(tmp_path / "head", target), "--device", "cpu",
                     "--prompt", "b"], "The tokenizer of target + head cannot read the prompt", "[UNK]")


# -- files that are odd, or not all there -------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["tokenizer_config.json", "special_tokens_map.json"])
@pytest.mark.parametrize("empty", ["", {"content": "", "lstrip": False, "rstrip": False, "single_word": False, "normalized": False}])
@pytest.mark.parametrize("kind", ["LLaMATokenizer", "LlamaTokenizer", "PreTrainedTokenizerFast"])
def test_special_tokens_that_are_the_empty_text_are_none(tmp_path, kind, empty, where):
    backend = (byte_fallback if kind == "LlamaTokenizer" else byte_level)().backend_tokenizer
    backend.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}))
    config = json.loads((tmp_path / where).read_text()) if (tmp_path / where).exists() else {}
    (tmp_path / where).write_text(json.dumps(config | dict.fromkeys(("bos_token", "eos_token", "unk_token"), empty)))
    tokenizer = load_tokenizer(tmp_path)
    ids = tokenizer("the cat")["input_ids"]
    assert ids == backend.encode("the cat").ids and tokenizer.unk_token is None
    assert Words(tokenizer).entry(ids[0])["text"].strip() == "the"


def test_a_configuration_without_end_is_a_sentence(tmp_path):
    byte_level().save_pretrained(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"a": ' * 100_000 + "1" + "}" * 100_000)
    with pytest.raises(CheckpointError, match=r"tokenizer_config\.json cannot be read|cannot be loaded"):
        load_tokenizer(tmp_path)


def test_a_configuration_without_words_is_no_tokenizer(tmp_path):
    """transformers makes one of three words of it, to which all text is unknown."""
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "LlamaTokenizer"}')
    assert load_tokenizer(tmp_path) is None


# -- tokenizer.model alone ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sentencepiece_only(tmp_path_factory):
    """A folder as Vicuna's: SentencePiece's own file, no tokenizer.json; and what SentencePiece says."""
    sentencepiece = pytest.importorskip("sentencepiece")
    folder, made = tmp_path_factory.mktemp("spm"), io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sat on the mat, the end", "das Mädchen über Öl, how are you?"] * 9), model_writer=made,
        vocab_size=320, model_type="bpe", byte_fallback=True, unk_id=0, bos_id=1, eos_id=2, pad_id=-1, minloglevel=2,
        normalization_rule_name="identity", remove_extra_whitespaces=False, hard_vocab_limit=False)
    (folder / "tokenizer.model").write_bytes(made.getvalue())
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "add_eos_token": False, "legacy": True,
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}))
    return folder, sentencepiece.SentencePieceProcessor(model_proto=made.getvalue())


@pytest.mark.parametrize("text", ["the cat", "how are you?\n", "Mädchen über 😀", "a  b"])
def test_sentencepiece_alone_says_what_sentencepiece_says(sentencepiece_only, text, caplog):
    folder, itself = sentencepiece_only
    tokenizer = load_tokenizer(folder)
    ids = tokenizer(text)["input_ids"]
    assert ids == [1, *itself.encode(text)] and caplog.text == ""
    raw = [bytes.fromhex(entry["bytes"]) if entry["bytes"] else entry["text"].encode()
           for entry in map(Words(tokenizer).entry, ids[1:])]
    assert b"".join(raw).decode() == " " + text


@pytest.mark.parametrize("first, lacking, words", [
    (b"\n", {"sentencepiece", "google.protobuf"}, "SentencePiece model without tokenizer.json; run pip install sentencepiece protobuf"),
    (b"\n", {"google.protobuf"}, "run pip install protobuf, or give --ids"),
    (b"IQ== 0\n", {"tiktoken"}, "tiktoken model without tokenizer.json; run pip install tiktoken")])
def test_the_package_that_is_lacking_is_named(tmp_path, monkeypatch, capfd, first, lacking, words):
    (tmp_path / "tokenizer.model").write_bytes(first)
    monkeypatch.setattr(module, "_installed", lambda name: name not in lacking)
    with pytest.raises(CheckpointError, match=words):
        load_tokenizer(tmp_path)
    assert capfd.readouterr() == ("", "")
    assert module.find_spec("json") and not module.find_spec("tiktoken_of_nobody")


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model", "tokenizer_config.json"])
def test_a_pointer_in_a_files_place_is_called_one(tmp_path, name):
    byte_level().save_pretrained(tmp_path)
    if name == "tokenizer.model":  # it is read where there is no tokenizer.json
        (tmp_path / "tokenizer.json").unlink()
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    with pytest.raises(CheckpointError, match="git lfs pull"):
        load_tokenizer(tmp_path)


def test_a_broken_model_is_a_sentence_without_noise(sentencepiece_only, tmp_path, capfd):
    shutil.copytree(sentencepiece_only[0], tmp_path / "t")
    path = tmp_path / "t/tokenizer.model"
    path.write_bytes(path.read_bytes()[:999])
    with pytest.raises(CheckpointError, match="cannot be loaded"):
        load_tokenizer(tmp_path / "t")
    assert capfd.readouterr() == ("", "")
