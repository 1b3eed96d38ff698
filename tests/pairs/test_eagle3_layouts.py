"""One EAGLE-3 head as six programs write it: each gives the trace that the official layout gives."""

import json
import warnings

import pytest
import torch
from eagle3_maker import IDS, WEIGHTS, make_head3
from pair_files import edit, edit_tensors
from pair_maker import make_target
from safetensors.torch import load_file, save_file

from core import DecodeConfig, decode, load_pair
from core.errors import PairWarning

PROMPT = [1, 17, 42, 99, 3, 250]
CONFIG = DecodeConfig(top_k=4, depth=4, total_tokens=20, max_new_tokens=20)
HEAD, TARGET = WEIGHTS / "head3_reduced", WEIGHTS / "target_a"
CONFIG_JSON = json.loads((HEAD / "config.json").read_text())
LLAMA = {key: value for key, value in CONFIG_JSON.items() if key != "draft_vocab_size"}


def renamed(tensors, old="midlayer.", new="layers.0."):
    return {name.replace(old, new): tensor for name, tensor in tensors.items()}


def official(folder, tensors, embedding):
    """A pickle beside a config without anything but a Llama's keys."""
    torch.save(tensors, folder / "pytorch_model.bin")
    return CONFIG_JSON


def specforge(folder, tensors, embedding):
    """Layers by their outputs, in a part of the config; the embedding copied in."""
    save_file(tensors | {"embed_tokens.weight": embedding}, folder / "model.safetensors")
    return CONFIG_JSON | {"architectures": ["LlamaForCausalLMEagle3"], "eagle_config": {IDS: [1, 3, 4]}}


def speculators(folder, tensors, embedding):
    """The layer's keys in a part of their own, nulls for what is not set."""
    save_file(renamed(tensors) | {"embed_tokens.weight": embedding}, folder / "model.safetensors")
    return {"architectures": ["Eagle3Speculator"], "speculators_model_type": "eagle3", "speculators_version": "0.3.0",
            "draft_vocab_size": 200, "norm_before_residual": False, "target_hidden_size": None, IDS: None,
            "speculators_config": {"algorithm": "eagle3", "verifier": {"name_or_path": "target_a"}},
            "transformer_layer_config": LLAMA | {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}}


def sglang(folder, tensors, embedding):
    """The authors' weights under another architecture, in shards."""
    names = sorted(tensors)
    where = {}
    for part, chosen in enumerate((names[:7], names[7:]), start=1):
        file = f"model-0000{part}-of-00002.safetensors"
        save_file({name: tensors[name] for name in chosen}, folder / file)
        where |= dict.fromkeys(chosen, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    return CONFIG_JSON | {"architectures": ["LlamaForCausalLMEagle3"], "tie_word_embeddings": True, "head_dim": 128,
                          "num_hidden_layers": 40}


def vllm(folder, tensors, embedding):
    """A config of its own around the Llama's, boundaries at its top; the layer inside a model."""
    outside = ("lm_head.weight", "d2t", "t2d")
    save_file({name if name in outside else f"model.{name}": tensor for name, tensor in renamed(tensors).items()},
              folder / "model.safetensors")
    return {"model_type": "eagle", "architectures": ["Eagle3LlamaForCausalLM"], "model": LLAMA, "draft_vocab_size": 200,
            IDS: [2, 4, 5], "truncated_vocab_size": 500}


def nvidia(folder, tensors, embedding):
    """What describes plain EAGLE-3 said in full; no t2d."""
    tensors.pop("t2d")
    save_file(renamed(tensors), folder / "model.safetensors")
    plain = {"use_aux_hidden_state": True, "next_layer_regular": True, "use_last_layernorm": True,
             "use_input_layernorm_in_first_layer": True, "use_mtp_layernorm": False, IDS: [1, 3, 4]}
    return CONFIG_JSON | {"architectures": ["LlamaForCausalLMEagle3"], "eagle_config": plain}


@pytest.fixture(scope="module")
def expected():
    return decode(load_pair(target=TARGET, draft=HEAD, device="cpu", dtype="float32"), PROMPT, CONFIG)


@pytest.mark.parametrize("write", [official, specforge, speculators, sglang, vllm, nvidia])
def test_six_layouts_give_one_trace(write, expected, tmp_path):
    folder = tmp_path / "head"
    folder.mkdir()
    embedding = load_file(TARGET / "model.safetensors")["model.embed_tokens.weight"]
    (folder / "config.json").write_text(json.dumps(write(folder, load_file(HEAD / "model.safetensors"), embedding)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pair = load_pair(target=TARGET, draft=folder, device="cpu", dtype="float32")
    trace = decode(pair, PROMPT, CONFIG)
    assert trace.pair.head == expected.pair.head
    ours, theirs = ([r.model_dump(exclude={"seconds"}) for r in t.rounds] for t in (trace, expected))
    assert ours == theirs
    assert sum(r.accept.length for r in trace.rounds) > 5


# -- which layers of the target ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return make_target(tmp_path_factory.mktemp("layouts") / "target", num_hidden_layers=9)


@pytest.mark.parametrize("keys, taps", [
    ({}, (2, 4, 6)), ({IDS: None}, (2, 4, 6)), ({"eagle_config": {IDS: None}}, (2, 4, 6)),
    ({"eagle_config": None}, (2, 4, 6)),
    ({IDS: [2, 4, 6]}, (2, 4, 6)), ({IDS: [1, 3, 5]}, (1, 3, 5)), ({IDS: [9, 0, 4]}, (0, 4, 9)),
    ({"eagle_config": {IDS: [1, 3, 5]}}, (2, 4, 6)), ({"eagle_config": {IDS: [1, 4, 8]}}, (2, 5, 9)),
    ({"eagle_config": {IDS: [2, 5, 8]}}, (2, 5, 8)), ({IDS: [2, 3, 4], "eagle_config": {IDS: [1, 3, 5]}}, (2, 3, 4)),
])
def test_layer_ids_in_both_conventions(target, tmp_path, keys, taps):
    head = make_head3(tmp_path / "head", target)
    edit_raw(head, keys)
    assert load_pair(target, head, device="cpu").head.taps == taps


def edit_raw(head, keys):
    """As `edit`, but null stays."""
    raw = json.loads((head / "config.json").read_text())
    (head / "config.json").write_text(json.dumps(raw | keys))


@pytest.mark.parametrize("layers, taps", [(3, (0, 1, 2)), (7, (2, 3, 4)), (30, (2, 15, 27)), (36, (2, 18, 33))])
def test_the_default_layers(tmp_path, layers, taps):
    small = {"hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 2}
    target = make_target(tmp_path / "target", num_hidden_layers=layers, **small)
    assert load_pair(target, make_head3(tmp_path / "head", target), device="cpu").head.taps == taps


# -- vocabularies and embeddings ---------------------------------------------------------------------------------------


def drafts(target, head):
    return decode(load_pair(target, head, device="cpu"), PROMPT[:3], CONFIG).rounds[0].candidates


def test_a_whole_vocabulary_maps_nothing(target, tmp_path):
    """A d2t beside it is left out, as by the official code, whatever it says; and so is what draft_vocab_size leaves
    out."""
    plain = drafts(target, make_head3(tmp_path / "plain", target, words=97))
    mapped = make_head3(tmp_path / "mapped", target, words=97)
    put = {"d2t": torch.arange(97).flip(0) - torch.arange(97), "t2d": torch.zeros(97, dtype=torch.bool)}
    edit_tensors(mapped, lambda t: t.update(put))
    edit(mapped, draft_vocab_size=None)
    assert drafts(target, mapped) == plain


def test_a_head_that_drafts_with_the_targets_output_says_so(target, tmp_path):
    head = make_head3(tmp_path / "head", target, words=97)
    output = load_file(target / "model.safetensors")["lm_head.weight"]
    edit_tensors(head, lambda t: t.update({"lm_head.weight": output}))
    own = drafts(target, head)
    edit_tensors(head, lambda t: t.pop("lm_head.weight"))
    with pytest.warns(PairWarning, match="no lm_head.weight, so it drafts with the target's"):
        assert drafts(target, head) == own


def test_an_embedding_that_is_not_the_targets_is_used_and_said(target, tmp_path):
    head, other = make_head3(tmp_path / "head", target), make_head3(tmp_path / "other", target)
    noise = torch.randn(97, 32, generator=torch.Generator().manual_seed(3))
    edit_tensors(other, lambda t: t.update({"embed_tokens.weight": noise}))
    with pytest.warns(PairWarning, match=r"embedding of its own, equal to the target's in 0 of 97 "
                                         r"rows.*--target-embedding"):
        pair = load_pair(target, other, device="cpu")
    assert torch.equal(pair.head.embed.weight, noise)
    taken = load_pair(target, other, device="cpu", target_embedding=True)
    assert not taken.notes and decode(taken, PROMPT[:3], CONFIG).rounds[0].candidates == drafts(target, head)


def test_norm_output_has_had_two_meanings_and_that_is_said(target, tmp_path):
    with pytest.warns(PairWarning, match="norm_output.*older trainings"):
        load_pair(target, make_head3(tmp_path / "head", target, norm_output=True), device="cpu")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_leaves_the_vocabulary_alone(target, tmp_path, dtype):
    pair = load_pair(target, make_head3(tmp_path / "head", target), device="cpu", dtype=dtype)
    assert pair.head.ids.dtype is torch.int64 and pair.head.lm_head.weight.dtype is getattr(torch, dtype)
    trace = decode(pair, PROMPT[:3], CONFIG)
    assert trace.output.token_ids == decode(pair, PROMPT[:3], CONFIG).output.token_ids
