"""The official pairs by name, from a directory laid out as the model hub's cache: small random weights with the flags,
files and templates of the real repositories. What cannot be fetched here can at least be loaded."""


import httpx
import huggingface_hub
import pytest
import torch
from cli import call
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from pair_files import edit
from pair_maker import make_head, make_target
from safetensors.torch import load_file
from toy_tokenizers import byte_level
from transformers import LlamaForCausalLM

from core import CheckpointError, DecodeConfig, decode, load_named
from core.measure.check import check
from core.pairs.chat import encode
from core.pairs.named import PAIRS, pair_lines

LLAMA2 = "{{ bos_token }}{% for m in messages %}[INST] {{ m['content'] }} [/INST]{% endfor %}"
LLAMA3 = ("{{ bos_token }}{% for m in messages %}<|{{ m['role'] }}|>\n\n{{ m['content'] }}<|eot|>{% endfor %}"
          "{% if add_generation_prompt %}<|assistant|>\n\n{% endif %}")
SCALED = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
# what each repository says of itself: the target's config, its template, its end ids; the head's config, and fc.bias
ONE = {"llama2-chat-7b": ({"num_key_value_heads": 4}, LLAMA2, 2, {}, True),
       "vicuna-7b": ({"num_key_value_heads": 4}, None, 2, {}, True),
       "llama3-8b": ({"rope_theta": 500000.0}, LLAMA3, [3, 4], {"rope_theta": 500000.0}, False),
       "llama3.2-1b": ({"rope_theta": 500000.0, "rope_scaling": SCALED, "tie_word_embeddings": True, "head_dim": 8}, LLAMA3,
                       [3, 4], {"rope_theta": 500000.0}, False)}
ONE["llama3.2-3b"] = ONE["llama3.2-1b"]
PICKLED = {"vicuna-7b"}  # this target comes as pytorch_model.bin


def in_cache(hub, repository, fill):
    """An empty snapshot of a repository, filled by `fill`, as the hub's cache keeps it."""
    home = hub / f"models--{repository.replace('/', '--')}"
    snapshot = home / "snapshots" / "0123456789abcdef0123456789abcdef01234567"
    snapshot.mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs/main").write_text(snapshot.name)
    fill(snapshot)
    return snapshot


def pickle_weights(directory, change=lambda tensors: tensors):
    torch.save(change(load_file(directory / "model.safetensors")), directory / "pytorch_model.bin")
    (directory / "model.safetensors").unlink()


def make_official(name, hub):
    """The cached snapshots of an official pair: (target, head)."""
    shape, template, ends, head_config, bias = ONE[name]
    rope = {key: shape[key] for key in ("rope_theta", "rope_scaling") if key in shape}
    target_id, head_id = PAIRS[name].target(print)[0], PAIRS[name].head

    def target(at):
        make_target(at, vocab_size=300, **{key: value for key, value in shape.items() if key not in rope})
        edit(at, rope_parameters=None, **rope)  # the older spelling, as these repositories have it
        edit(at, "generation_config.json", eos_token_id=ends)
        tokenizer = byte_level()
        tokenizer.chat_template = template
        tokenizer.save_pretrained(at)
        if name in PICKLED:
            pickle_weights(at)

    made = in_cache(hub, target_id, target)
    weights = made / ("pytorch_model.bin" if name in PICKLED else "model.safetensors")
    embedding = (torch.load(weights) if name in PICKLED else load_file(weights))["model.embed_tokens.weight"]

    def head(at):
        make_head(at, made, bias=bias)
        edit(at, bias=None if bias else False, **head_config)
        pickle_weights(at, lambda t: {"embed_tokens.weight": embedding.half()} | {k: v.half() for k, v in t.items()})

    return made, in_cache(hub, head_id, head)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty cache of the hub in place of the user's."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def test_every_official_pair_is_tried():
    assert set(ONE) == {name for name, pair in PAIRS.items() if isinstance(pair.head, str)}


@pytest.mark.parametrize("name", ONE)
def test_an_official_pair_loads_and_decodes_by_name(hub, name):
    target, _ = make_official(name, hub)
    pair = load_named(name, device="cpu")
    ids = encode(pair, "Why?", chat=True)
    config = DecodeConfig(top_k=4, depth=3, total_tokens=20, max_new_tokens=16)
    trace = decode(pair, ids, config)
    assert check(pair, ids, config, trace.output.token_ids)["lossless"]
    assert (trace.pair.name, trace.pair.target, trace.pair.draft) == (name, PAIRS[name].target(print)[0], PAIRS[name].head)

    ends = ONE[name][2]
    assert pair.eos_ids == tuple(ends if isinstance(ends, list) else [ends])
    model = LlamaForCausalLM.from_pretrained(target).eval()  # transformers, with its own reading of these files
    said = model.generate(torch.tensor([ids]), do_sample=False, max_new_tokens=16, pad_token_id=0)[0, len(ids):].tolist()
    assert trace.output.token_ids == said
    theta = ONE[name][3].get("rope_theta", 10000.0)
    torch.testing.assert_close(pair.head.rotary.inv_freq, theta ** -(torch.arange(0, 8, 2) / 8))
    assert (pair.head.fc.bias is not None) == ONE[name][4]


@pytest.mark.parametrize("name, begins, ends", [
    ("llama2-chat-7b", "[INST] Why?", "[/INST]"), ("vicuna-7b", "A chat between a curious user", "USER: Why? ASSISTANT:"),
    ("llama3-8b", "<|user|>", "<|eot|><|assistant|>\n\n"), ("llama3.2-1b", "<|user|>", "<|eot|><|assistant|>\n\n")])
def test_each_is_asked_in_its_own_words(hub, name, begins, ends):
    make_official(name, hub)
    pair = load_named(name, device="cpu")
    text = pair.tokenizer.decode(encode(pair, "Why?", chat=True))
    assert begins in text and text.endswith(ends), text


def test_the_list_knows_what_is_in_the_hubs_cache(hub):
    make_official("vicuna-7b", hub)
    said = {line.split()[0]: line for line in pair_lines()}
    assert " here " in said["vicuna-7b"] and " to fetch " in said["llama3-8b"]


# -- what the hub may answer -------------------------------------------------------------------------------------------


def answer(status):
    return httpx.Response(status, request=httpx.Request("GET", "https://huggingface.co/"))


@pytest.mark.parametrize("what", ["target", "head"])
@pytest.mark.parametrize("error, words", [
    (GatedRepoError("403", response=answer(403)), ("is gated", "accept its licence on https://huggingface.co/", "hf auth login")),
    (RepositoryNotFoundError("404", response=answer(404)), ("The hub has no model", "check the id")),
    (httpx.ConnectError("no route"), ("the hub cannot be reached", "ConnectError", "connect")),
    (OSError(28, "No space left on device"), ("disk is full", "HF_HOME")),
])
def test_a_hub_that_refuses_is_one_sentence_before_any_weights(hub, monkeypatch, capsys, what, error, words):
    make_official("llama3.2-1b", hub)
    entry, asked = PAIRS["llama3.2-1b"], []
    refuses, real = entry.head if what == "head" else entry.target(print)[0], huggingface_hub.snapshot_download

    def snapshot(name, allow_patterns, **how):
        asked.extend(allow_patterns)
        if name == refuses:
            raise error
        return real(name, allow_patterns=allow_patterns, **how)

    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    with pytest.raises(CheckpointError) as caught:
        load_named("llama3.2-1b", device="cpu")
    assert refuses in str(caught.value) and all(word in str(caught.value) for word in words), caught.value
    assert not {"*.safetensors", "*.bin"} & set(asked)
    code, _, err = call(capsys, "run", "--pair", "llama3.2-1b", "--device", "cpu", "--prompt", "Why?")
    assert code == 2 and err.splitlines()[-1].startswith("error: ") and words[0] in err and "Traceback" not in err


def test_an_official_pair_that_is_not_here_and_no_lookups_allowed(hub, capsys):
    code, _, err = call(capsys, "run", "--pair", "llama3-8b", "--device", "cpu", "--prompt", "Why?")
    assert code == 2 and "HF_HUB_OFFLINE is set" in err and "Traceback" not in err
