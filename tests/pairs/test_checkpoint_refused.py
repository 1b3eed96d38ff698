"""Checkpoints that must be refused: one sentence that names the file, the tensor or the value."""

import httpx
import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
from pair_files import copy_of_head, copy_of_target, edit, edit_tensors, refused, whole_pair
from pair_maker import make_head, make_target
from safetensors.torch import load_file
from toy_tokenizers import byte_level
from transformers import LlamaForCausalLM

from core import load_named
from core.errors import UserError

whole = pytest.fixture(scope="module", name="whole")(whole_pair)
target = pytest.fixture(name="target")(copy_of_target)
head = pytest.fixture(name="head")(copy_of_head)


# -- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["target", "head"])
@pytest.mark.parametrize("share", [0, 0.001, 0.5, 0.999])
def test_truncated_safetensors(target, head, what, share):
    directory = {"target": target, "head": head}[what]
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    refused(target, head, what, str(directory), "truncated or broken", "copy them again")


@pytest.mark.parametrize("what", ["target", "head"])
@pytest.mark.parametrize("share", [0, 0.5, 0.999])
def test_truncated_pickles(target, head, what, share):
    directory = {"target": target, "head": head}[what]
    torch.save(load_file(directory / "model.safetensors"), directory / "pytorch_model.bin")
    (directory / "model.safetensors").unlink()
    path = directory / "pytorch_model.bin"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    refused(target, head, what, str(directory), "copy")


@pytest.mark.parametrize("what", ["target", "head"])
@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_missing_files(target, head, what, name):
    directory = {"target": target, "head": head}[what]
    (directory / name).unlink()
    refused(target, head, str(directory), name)


def test_a_missing_shard_and_a_broken_index(target, head, tmp_path):
    LlamaForCausalLM.from_pretrained(target).save_pretrained(tmp_path / "sharded", max_shard_size="20KB")
    shard = sorted((tmp_path / "sharded").glob("*.safetensors"))[1]
    shard.unlink()
    refused(tmp_path / "sharded", head, shard.name)
    (tmp_path / "sharded/model.safetensors.index.json").write_text("{")
    refused(tmp_path / "sharded", head, "cannot be loaded", "copy the checkpoint again")


@pytest.mark.parametrize("what", ["target", "head"])
@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[]", b"", b"\x00" * 100])
def test_configs_that_are_no_json_object(target, head, what, content):
    directory = {"target": target, "head": head}[what]
    (directory / "config.json").write_bytes(content)
    refused(target, head, str(directory / "config.json"), "JSON", "copy the checkpoint again")


@pytest.mark.parametrize("content", ["{", '{"eos_token_id": "x"}', '{"eos_token_id": [2, null]}', '{"eos_token_id": true}'])
def test_generation_configs_that_make_no_sense(target, head, content):
    (target / "generation_config.json").write_text(content)
    refused(target, head, str(target))


@pytest.mark.parametrize("name, content", [
    ("tokenizer.json", "{}"), ("tokenizer.json", "nonsense"), ("tokenizer_config.json", "nonsense"),
    ("tokenizer.json", '{"model": {"type": "What"}, "added_tokens": []}'),
])
def test_a_broken_tokenizer(target, head, name, content):
    byte_level(90).save_pretrained(target)
    (target / name).write_text(content)
    refused(target, head, "tokenizer", str(target), "copy the checkpoint again")


@pytest.mark.parametrize("source, words", [
    ("./not/there", ("does not exist", "hub id")), ("nothere", ("does not exist", "hub id")),
    ("someone/no-such-model-0123456789", ("neither a directory", "HF_HUB_OFFLINE is set", "unset it")),
    ("bad id/with spaces", ("neither a directory", "no blanks")), ("bad/n:ame", ("neither a directory", "letters, digits")),
    ("owner/name@main", ("names a version", "give owner/name for the main version", "hf download owner/name --revision main")),
    ("https://huggingface.co/owner/name/tree/main", ("is an address", "give the id alone, owner/name")),
])
@pytest.mark.parametrize("what", ["target", "head"])
def test_directories_and_hub_ids_that_are_not_there(whole, source, words, what):
    """No test asks the hub (HF_HUB_OFFLINE)."""
    pair = (source, whole[1]) if what == "target" else (whole[0], source)
    refused(*pair, source, *words)


@pytest.mark.parametrize("error, words", [
    (httpx.ReadTimeout("slow"), ("hub cannot be reached", "ReadTimeout", "connect")),
    (PermissionError(13, "Permission denied", "/hub/blobs"), ("/hub/blobs cannot be written", "HF_HOME")),
    (OSError(28, "No space left on device"), ("disk is full", "someone/model", "HF_HOME")),
    (RepositoryNotFoundError("404", response=httpx.Response(404, request=httpx.Request("GET", "http://hub/"))),
     ("The hub has no model someone/model", "hf auth login")),
    (GatedRepoError("403", response=httpx.Response(403, request=httpx.Request("GET", "http://hub/"))),
     ("someone/model is gated", "https://huggingface.co/someone/model", "hf auth login")),
])
def test_a_hub_that_refuses(whole, monkeypatch, error, words):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    refused("someone/model", whole[1], *words)


def test_a_file_instead_of_its_directory(whole):
    refused(whole[0] / "model.safetensors", whole[1], "is a file", "give the directory")


# -- contents ----------------------------------------------------------------------------------------------------------


def test_a_model_that_is_no_llama(target, head):
    edit(target, model_type="gpt2")
    refused(target, head, "'gpt2'", "must be a Llama")
    edit(target, model_type=None)
    refused(target, head, "None", "must be a Llama")


@pytest.mark.parametrize("kind", ["gpt2", "qwen2", "mistral", "gemma3_text"])
def test_a_hub_id_that_is_no_llama_costs_no_download(target, whole, monkeypatch, kind):
    edit(target, model_type=kind)
    asked = []

    def snapshot(name, allow_patterns, **how):
        asked.append(allow_patterns)
        return str(target)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    refused("someone/model", whole[1], repr(kind), "must be a Llama")
    assert len(asked) == 1 and not {"*.safetensors", "*.bin"} & set(asked[0])


@pytest.mark.parametrize("name", ["model.norm.weight", "lm_head.weight", "model.layers.1.mlp.up_proj.weight"])
def test_a_target_that_lacks_a_tensor_is_not_filled_with_random_numbers(target, head, name, capfd):
    edit_tensors(target, lambda t: t.pop(name))
    refused(target, head, str(target), "lacks", name)
    assert capfd.readouterr().err == ""  # transformers' own table would be a second answer


def test_a_target_with_a_misshapen_tensor(target, head, capfd):
    edit_tensors(target, lambda t: t.update({"model.norm.weight": torch.ones(31)}))
    refused(target, head, "model.norm.weight", "[31]", "[32]")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("changes", [
    {"hidden_size": "abc"}, {"hidden_size": -4}, {"num_attention_heads": 0}, {"num_attention_heads": 5},
    {"hidden_act": "nope"}, {"rope_parameters": {"rope_type": "nope", "rope_theta": 1e4}},
    {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4}},
    {"quantization_config": {"quant_method": "gptq", "bits": 4}},
])
def test_target_configs_that_make_no_sense(target, head, changes):
    edit(target, **changes)
    refused(target, head, str(target))


@pytest.mark.parametrize("changes", [
    {"num_attention_heads": 0}, {"num_attention_heads": 5}, {"num_attention_heads": -4}, {"num_attention_heads": None},
    {"num_attention_heads": "many"}, {"intermediate_size": None}, {"intermediate_size": [48]}, {"hidden_act": "nope"},
    {"rope_scaling": {"type": "nope", "factor": 2.0}}, {"rope_scaling": {"type": "linear"}}, {"rope_scaling": [1]},
    {"rms_norm_eps": "small"}, {"rope_theta": "big"},
])
def test_head_configs_that_make_no_sense(target, head, changes):
    edit(head, **changes)
    refused(target, head, str(head / "config.json"), "does not describe a head")


@pytest.mark.parametrize("changes, words", [({"hidden_size": 64}, ("64", "32")), ({"vocab_size": 98}, ("98", "97")),
                                            ({"hidden_size": "32"}, ("'32'",))])
def test_a_head_whose_config_does_not_fit(target, head, changes, words):
    edit(head, **changes)
    refused(target, head, "does not fit the target", *changes, *words, "trained for this target")


def test_a_head_whose_tensors_do_not_fit(target, tmp_path):
    """No size in its config to betray it: the tensors do."""
    other = make_target(tmp_path / "other", hidden_size=64)
    head = make_head(tmp_path / "other head", other)
    refused(target, head, "hidden_size is 64")
    edit(head, hidden_size=None)
    refused(target, head, "fc.weight is 64 x 128", "EAGLE-1/2 head has 32 x 64", "EAGLE-3 head 32 x 96")


def test_a_head_with_another_vocabulary(target, head):
    edit(head, vocab_size=None)
    edit_tensors(head, lambda t: t.update({"embed_tokens.weight": torch.zeros(98, 32)}))
    refused(target, head, "does not fit the target", "[98, 32]", "[97, 32]")


@pytest.mark.parametrize("name", ["fc.weight", "layers.0.self_attn.k_proj.weight", "layers.0.post_attention_layernorm.weight"])
def test_a_head_with_a_tensor_missing_surplus_or_misshapen(target, head, name):
    edit_tensors(head, lambda t: t.update({name: torch.ones(3, 5)}))
    refused(target, head, str(head), name, "3 x 5" if name == "fc.weight" else "[3, 5]")
    edit_tensors(head, lambda t: t.pop(name))
    refused(target, head, "lacks the tensor", name)


@pytest.mark.parametrize("name", ["layers.0.input_layernorm.weight", "norm.weight", "lm_head.weight",
                                  "layers.1.mlp.up_proj.weight", "layers.0.self_attn.q_proj.bias"])
def test_a_head_with_a_surplus_tensor(target, head, name):
    edit_tensors(head, lambda t: t.update({name: torch.ones(32)}))
    refused(target, head, "a tensor too many", name)


def test_a_bias_that_the_config_denies_or_invents(target, head, tmp_path):
    edit(head, bias=None)
    refused(target, head, "no fc.bias", '"bias": true')
    biased = make_head(tmp_path / "biased", target, bias=True)
    edit(biased, bias=False)
    refused(target, biased, "has fc.bias", '"bias": false')


def test_a_quantised_head(target, head):
    edit_tensors(head, lambda t: t.update({"fc.weight": t["fc.weight"].to(torch.int8)}))
    refused(target, head, "fc.weight", "int8", "not quantised")


def test_a_pickle_that_holds_no_tensors(target, head):
    (head / "model.safetensors").unlink()
    torch.save({"fc.weight": [1, 2]}, head / "pytorch_model.bin")
    refused(target, head, "not a dictionary of tensors")


# -- devices, numbers, names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device, words", [("tpu", ("unknown", "auto, cpu, cuda")), ("cuda:x", ("unknown",)),
                                           ("meta", ("not supported",)), ("", ("unknown",)), ("cuda:99", ("PyTorch sees",))])
def test_devices_that_are_not_there(device, words):
    """Found before anything is looked for: neither directory exists."""
    refused("./nowhere", "./nowhere", f'"{device}"', *words, device=device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="has CUDA")
def test_cuda_where_there_is_none():
    refused("./nowhere", "./nowhere", '"cuda"', "0 CUDA devices", "use cpu", device="cuda")


def test_unknown_dtype():
    refused("./nowhere", "./nowhere", '"int8"', "float32, bfloat16, float16", dtype="int8")


def test_named_pairs(monkeypatch):
    with pytest.raises(UserError, match=r'no pair "nobody"; there is smollm2-135m.*--target'):
        load_named("nobody")

    def fetched(progress):
        raise AssertionError("fetched before the flags were read")

    from core.pairs import named as pairs
    monkeypatch.setitem(pairs.PAIRS, "smollm2-135m", pairs.NamedPair("smollm2-135m", "", "", fetched, None))
    with pytest.raises(UserError, match="tpu"):
        load_named("smollm2-135m", device="tpu")
    with pytest.raises(UserError, match="int8"):
        load_named("smollm2-135m", dtype="int8")


def test_a_named_pair_loads_with_its_own_names(whole, monkeypatch):
    from core.pairs import named as pairs
    monkeypatch.setitem(pairs.PAIRS, "toy", pairs.NamedPair("toy", "", "", lambda progress: (whole[0], "where from"), whole[1]))
    told = []
    pair = load_named("toy", device="cpu", progress=lambda line, share=None: told.append(line))
    assert (pair.name, pair.target_source, pair.draft_source) == ("toy", "where from", "toy (ours)")
    assert told == ["Loading toy"]
