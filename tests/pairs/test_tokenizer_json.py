"""What tokenizer.json says holds, whatever class tokenizer_config.json names beside it."""

import json

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from toy_tokenizers import byte_fallback, byte_level

from core.pairs.tokenizer import load_tokenizer
from core.trace.words import Words

TEXTS = ["the cat", "  the   cat", " the", "the ", "the</s>\ncat", "<s>[INST] the [/INST]", "x 12 das Mädchen", "日本 🌳"]


def normalised():
    """Llama-2's own: a space before every part of a text, what follows a special token included."""
    return byte_fallback().backend_tokenizer


def spaced(scheme):
    tokenizer = byte_fallback().backend_tokenizer
    tokenizer.normalizer = None
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace("▁", scheme)
    return tokenizer


def unigram():
    words = ["<unk>", "<s>", "</s>", "▁", *"thecaINSTx12[]/\n", "▁the", "▁cat", "the"]
    tokenizer = Tokenizer(models.Unigram([(word, -float(i)) for i, word in enumerate(words)], 0))
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    return tokenizer


def digits_apart():
    """SmolLM2's: numbers are read digit by digit, though the vocabulary knows longer ones."""
    written = json.loads(byte_level().backend_tokenizer.to_str())
    written["model"]["vocab"]["12"] = 280
    written["model"]["merges"].append(["1", "2"])
    written["added_tokens"][-1]["id"] = 281
    tokenizer = Tokenizer.from_str(json.dumps(written))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), tokenizer.pre_tokenizer])
    return tokenizer


def lower_case():
    tokenizer = byte_level().backend_tokenizer
    tokenizer.normalizer = normalizers.Lowercase()
    return tokenizer


@pytest.mark.parametrize("kind", ["LlamaTokenizer", "LlamaTokenizerFast", "GPT2Tokenizer", "PreTrainedTokenizerFast", None])
@pytest.mark.parametrize("make", [normalised, lambda: spaced("never"), lambda: spaced("always"), unigram, digits_apart,
                                  lower_case], ids=["normaliser", "never", "always", "unigram", "digits", "lower case"])
def test_ids_and_text_are_those_of_the_file(tmp_path, make, kind):
    itself = make()
    itself.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind} if kind else {}))
    tokenizer = load_tokenizer(tmp_path)
    for text in TEXTS:
        ids = itself.encode(text, add_special_tokens=False).ids
        assert tokenizer(text, add_special_tokens=False)["input_ids"] == ids
        assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == itself.decode(ids, skip_special_tokens=False)
    words = "".join(Words(tokenizer).entry(i)["text"] for i in itself.encode("the cat").ids)
    assert words.strip() == "the cat"


def test_what_stands_beside_it_is_added(tmp_path):
    """<s> where the file itself has it, and a token that only the config names."""
    itself = normalised()
    itself.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    itself.save(str(tmp_path / "tokenizer.json"))
    size = itself.get_vocab_size()
    pad = dict.fromkeys(("lstrip", "rstrip", "normalized", "single_word"), False) | {"content": "<pad>", "special": True}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>",
        "added_tokens_decoder": {str(size): pad}}))
    tokenizer = load_tokenizer(tmp_path)
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, size)
    assert tokenizer("the cat<pad>")["input_ids"] == [*itself.encode("the cat").ids, size]
    assert tokenizer("the cat<pad>", add_special_tokens=False)["input_ids"][:1] != [1]
    assert Words(tokenizer).entry(size) == {"text": "<pad>", "special": True, "bytes": None}
