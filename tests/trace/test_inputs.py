"""What is handed to `decode`, `stream` and `generate` from Python: ids in every dress, or one sentence before anything is
decoded."""

import numpy as np
import pytest
import torch
from toy_tokenizers import byte_level

from core import DecodeConfig, DecodeError, decode, generate, stream
from core.errors import UserError
from core.measure.plain import plain
from core.trace.inputs import token_ids

IDS = [5, 17, 3, 8]
FEW = DecodeConfig(top_k=2, depth=1, total_tokens=4, max_new_tokens=3)
CALLS = [decode, stream, generate]
TOKENIZER = byte_level()
CHAT = [{"role": "user", "content": "the cat"}]


@pytest.mark.parametrize("prompt", [
    IDS, tuple(IDS), range(5, 9), iter(IDS), (i for i in IDS), map(int, "5 17 3 8".split()), [IDS], (tuple(IDS),),
    torch.tensor(IDS), torch.tensor([IDS]), torch.tensor(IDS, dtype=torch.uint8), list(torch.tensor(IDS)), [torch.tensor(IDS)],
    np.array(IDS), np.array([IDS]), np.array(IDS, np.uint16), list(np.array(IDS)), [np.array(IDS)],
    {"input_ids": IDS}, {"input_ids": torch.tensor([IDS]), "attention_mask": torch.ones(1, 4, dtype=torch.long)},
    {"input_ids": np.array(IDS), "attention_mask": np.ones(4)},
], ids=lambda prompt: f"{type(prompt).__name__} {prompt}"[:40])
def test_ids_in_every_dress(prompt):
    ids = token_ids(prompt)
    assert ids == ([5, 6, 7, 8] if isinstance(prompt, range) else IDS) and all(type(i) is int for i in ids)


def test_an_encoding_is_what_the_tokenizer_says():
    for how in ({}, {"return_tensors": "pt"}, {"return_tensors": "np"}):
        assert token_ids(TOKENIZER("the cat", **how)) == TOKENIZER("the cat")["input_ids"]
        told = TOKENIZER.apply_chat_template(CHAT, add_generation_prompt=True, return_dict=True, **how)
        assert token_ids(told) == [1, *TOKENIZER("the cat")["input_ids"], 0]
    assert token_ids(TOKENIZER.apply_chat_template(CHAT, return_dict=False)) == [1, *TOKENIZER("the cat")["input_ids"]]


def test_every_way_in_takes_them(golden_pair):
    said = [token for _, token in plain(golden_pair, IDS, FEW)]
    for prompt in (torch.tensor([IDS]), {"input_ids": np.array([IDS])}):
        trace = decode(golden_pair, prompt, FEW)
        assert trace.output.token_ids == said == generate(golden_pair, prompt, FEW) and trace.prompt.token_ids == IDS
    first = next(stream(golden_pair, (i for i in IDS), FEW))
    assert first.prompt["token_ids"] == IDS


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("prompt, words", [
    ([], ["prompt is empty"]), (torch.ones(1, 0), ["prompt is empty"]), (iter(()), ["prompt is empty"]), ([[]], ["prompt is empty"]),
    ("the cat", ["the text 'the cat'", "tokenizer"]), (b"abc", ["a bytes"]), (bytearray(b"abc"), ["a bytearray"]),
    (None, ["prompt is None"]), (5, ["prompt is 5"]), (torch.tensor(5), ["prompt is 5", "tokenizer"]),
    ({5, 17}, ["a set"]), ({}, ["a dict without input_ids"]), ({"ids": IDS}, ["without input_ids"]), (print, ["builtin"]),
    ([1.0, 2.0], ["1.0 at place 0"]), ([5, 2.5], ["2.5 at place 1"]), (torch.tensor([1.0, 2.0]), ["1.0 at place 0"]),
    (np.array([1.5]), ["1.5"]), ([np.float32(3)], ["3.0"]), ([5, torch.tensor(2.5)], ["2.5 at place 1"]),
    ([True, False], ["True at place 0"]), (torch.tensor([True]), ["True"]), (np.array([False]), ["False"]),
    (["the", "cat"], ["the text 'the'"]), ([5, None], ["None at place 1"]), (np.array(["a"]), ["the text 'a'"]),
    ([IDS, IDS], ["2 rows", "one of them"]), (torch.tensor([IDS, IDS]), ["2 rows"]), (torch.tensor([[IDS]]), ["a list at place 0"]),
    (CHAT, ["a dict at place 0"]), (torch.ones(3, dtype=torch.long, device="meta"), ["a Tensor at place 0"]),
    ({"input_ids": [0, 5, 17], "attention_mask": [0, 1, 1]}, ["padded"]), (TOKENIZER(["a", "b"]), ["2 rows"]),
    ([5, -1], ["Token id -1"]), ([10**30], ["outside the vocabulary"]),
], ids=str)
def test_what_is_no_prompt(golden_pair, monkeypatch, call, prompt, words):
    refused(golden_pair, monkeypatch, words, call, golden_pair, prompt if not hasattr(prompt, "__next__") else iter(()), FEW)


def refused(pair, monkeypatch, words, call, *args, **more):
    """One sentence, and the target has read nothing."""
    monkeypatch.setattr(pair.target, "forward", None)
    with pytest.raises(DecodeError) as caught:
        call(*args, **more)
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence, sentence
    for word in words:
        assert word in sentence, sentence


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("config, words", [
    ({"top_k": 2}, ["a dict", "DecodeConfig"]), ("paper", ["the text 'paper'"]), (64, ["64"]), (DecodeConfig, ["a type"])])
def test_what_is_no_config(golden_pair, monkeypatch, call, config, words):
    refused(golden_pair, monkeypatch, words, call, golden_pair, IDS, config)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("pair", ["storybook", None, ("target", "head"), IDS])
def test_what_is_no_pair(golden_pair, monkeypatch, call, pair):
    refused(golden_pair, monkeypatch, ["The pair is", "load_named"], call, pair, IDS, FEW)


@pytest.mark.parametrize("call", [decode, stream])
@pytest.mark.parametrize("prompt", [5, ["the"], b"the", "half \ud83d"])
def test_a_text_that_is_none_is_refused_before_the_decoding(golden_pair, monkeypatch, call, prompt):
    refused(golden_pair, monkeypatch, ["prompt is"], call, golden_pair, IDS, FEW, prompt=prompt)


def test_settings_may_be_numpys_numbers():
    """Those of a sweep; what stands in the trace are Python's own."""
    config = DecodeConfig(top_k=np.int64(4), depth=np.int8(3), total_tokens=np.uint16(20), temperature=np.float32(0.5),
                          seed=np.uint64(2**63), stop_ids=[np.int64(2)])
    same = DecodeConfig(top_k=4, depth=3, total_tokens=20, temperature=0.5, seed=2**63, stop_ids=(2,))
    assert config == same and {type(value) for value in config.to_dict().values()} <= {str, int, float, list}
    for wrong in ({"top_k": np.bool_(True)}, {"top_k": np.float64(4)}, {"temperature": np.bool_(True)}):
        with pytest.raises(UserError, match=r"give a (whole|finite) number"):
            DecodeConfig(**wrong)
