"""Checkpoints of every shape that must load, and of every kind that must be refused with a sentence."""

import json
import os
import pickle
import shutil

import pytest
import torch
from conftest import GOLDEN, make_head, make_target
from safetensors.torch import load_file, save_file
from toy_tokenizers import byte_level
from transformers import LlamaForCausalLM

from core import CheckpointError, DecodeConfig, generate, load_named, load_pair
from core.check import check

SMALL = DecodeConfig(top_k=4, depth=3, total_tokens=20, max_new_tokens=24)
PROMPT = [5, 17, 3, 8]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A sound target and head, never changed: tests copy them."""
    folder = tmp_path_factory.mktemp("whole")
    target = make_target(folder / "target")
    return target, make_head(folder / "head", target)


@pytest.fixture
def target(whole, tmp_path):
    return shutil.copytree(whole[0], tmp_path / "target")


@pytest.fixture
def head(whole, tmp_path):
    return shutil.copytree(whole[1], tmp_path / "head")


def decoded(target, head, **how):
    """What the pair says after PROMPT; lossless, or the test fails."""
    pair = load_pair(target, head, device="cpu", **how)
    ids = generate(pair, PROMPT, SMALL)
    assert check(pair, PROMPT, SMALL, ids)["lossless"]
    return ids


def by_transformers(directory, count=24):
    """The same from transformers' own generate, loaded by itself."""
    model = LlamaForCausalLM.from_pretrained(directory).eval()
    model.generation_config.eos_token_id = None
    out = model.generate(torch.tensor([PROMPT]), do_sample=False, max_new_tokens=count, pad_token_id=0)
    return out[0, len(PROMPT):].tolist()


def edit(directory, name="config.json", **changes):
    """Change keys of a JSON file; None removes one."""
    path = directory / name
    values = json.loads(path.read_text()) if path.exists() else {}
    values |= changes
    path.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))


def edit_tensors(directory, change):
    tensors = load_file(directory / "model.safetensors")
    change(tensors)
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})


def refused(target, head, *words, **how):
    """Loading is refused with one sentence that holds the words."""
    with pytest.raises(CheckpointError) as caught:
        load_pair(target, head, device=how.pop("device", "cpu"), **how)
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith("."), sentence
    for word in words:
        assert word in sentence, sentence


# -- targets that must load -------------------------------------------------------------------------------------------


def test_one_file(target, head):
    assert decoded(target, head) == by_transformers(target)


def test_sharded(target, head, tmp_path):
    LlamaForCausalLM.from_pretrained(target).save_pretrained(tmp_path / "sharded", max_shard_size="20KB")
    assert len(list((tmp_path / "sharded").glob("*.safetensors"))) > 2 and not (tmp_path / "sharded/model.safetensors").exists()
    assert decoded(tmp_path / "sharded", head) == decoded(target, head)


def test_pickled_target(target, head):
    torch.save(load_file(target / "model.safetensors"), target / "pytorch_model.bin")
    plain = decoded(target, head)
    (target / "model.safetensors").unlink()
    assert decoded(target, head) == plain


@pytest.mark.parametrize("changes", [
    {"tie_word_embeddings": True},
    {"num_key_value_heads": 1},
    {"num_key_value_heads": 4},
    {"head_dim": 16},
    {"attention_bias": True, "mlp_bias": True},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}},
    {"rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}},
    {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}},
    {"rope_parameters": {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
                         "high_freq_factor": 4.0, "original_max_position_embeddings": 64}},
    {"rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                         "original_max_position_embeddings": 64}},
], ids=["tied", "1 kv head", "4 kv heads", "wide heads", "biases", "theta", "linear", "dynamic", "llama3", "yarn"])
def test_shapes_of_targets(tmp_path, changes):
    target = make_target(tmp_path / "target", seed=3, **changes)
    if changes.get("tie_word_embeddings"):
        assert "lm_head.weight" not in load_file(target / "model.safetensors")
    assert decoded(target, make_head(tmp_path / "head", target)) == by_transformers(target)


def test_older_config_spelling_of_rope(target, head):
    """Before transformers 5 theta and scaling were two keys."""
    default = decoded(target, head)
    edit(target, rope_parameters=None, rope_theta=10000.0, rope_scaling={"type": "linear", "factor": 8.0})
    assert decoded(target, head) == by_transformers(target) != default


def test_device_map_is_passed_on(target, head):
    assert decoded(target, head, device_map="auto") == decoded(target, head)


def test_dtypes(target, head):
    for name in ("bfloat16", "float16"):
        pair = load_pair(target, head, device="cpu", dtype=name)
        assert pair.describe()["dtype"] == name and pair.head.fc.weight.dtype is getattr(torch, name)
        assert len(generate(pair, PROMPT, SMALL)) == 24
    assert load_pair(target, head, device="cpu").describe()["dtype"] == "float32"


def test_layout_of_the_hubs_cache(target, head, tmp_path):
    """Snapshots are directories of links; the trace calls them by their hub id, not by a revision."""
    plain = decoded(target, head)
    byte_level(90).save_pretrained(target)
    for name, source in (("models--someone--a-target", target), ("models--someone--a--head", head)):
        blobs, snapshot = tmp_path / "hub" / name / "blobs", tmp_path / "hub" / name / "snapshots" / "0123abcd"
        snapshot.mkdir(parents=True)
        shutil.copytree(source, blobs)
        for blob in blobs.iterdir():
            (snapshot / blob.name).symlink_to(os.path.relpath(blob, snapshot))
    snapshots = [path / "snapshots/0123abcd" for path in sorted((tmp_path / "hub").iterdir(), reverse=True)]
    assert decoded(*snapshots) == plain
    pair = load_pair(*snapshots, device="cpu")
    assert (pair.target_source, pair.draft_source) == ("someone/a-target", "someone/a--head")
    assert pair.name == "someone/a-target + someone/a--head" and pair.tokenizer is not None


def test_a_trace_does_not_tell_where_the_weights_lie(target, head, tmp_path):
    assert str(tmp_path) not in json.dumps(load_pair(target, head, device="cpu").describe())


# -- where a run ends -------------------------------------------------------------------------------------------------


def test_stop_ids_come_from_the_generation_config(target, head):
    edit(target, eos_token_id=7)
    assert load_pair(target, head, device="cpu").eos_ids == (7,)  # make_target's own file does not name one
    edit(target, "generation_config.json", eos_token_id=[4, 9])
    assert load_pair(target, head, device="cpu").eos_ids == (4, 9)
    edit(target, "generation_config.json", eos_token_id=0)
    assert load_pair(target, head, device="cpu").eos_ids == (0,)  # 0 is an id, not the absence of one
    (target / "generation_config.json").unlink()
    assert load_pair(target, head, device="cpu").eos_ids == (7,)


def golden_copy(tmp_path):
    return shutil.copytree(GOLDEN / "weights/target", tmp_path / "golden"), GOLDEN / "weights/head_bias"


def test_eos_inside_an_accepted_path_ends_the_output(tmp_path):
    """The golden head is accepted several tokens deep, so every id of a path can be made the end."""
    from core import decode
    target, head = golden_copy(tmp_path)
    edit(target, "generation_config.json", eos_token_id=None)
    edit(target, eos_token_id=None)
    settings = DecodeConfig(max_new_tokens=40)
    free = decode(load_pair(target, head, device="cpu"), PROMPT, settings)
    first = free.rounds[0].committed
    assert len(first) >= 4  # root and at least three accepted
    for place in (1, 2, len(first) - 1):
        end, never = first[place], next(i for i in range(256) if i not in free.output.token_ids)
        expected = free.output.token_ids[: free.output.token_ids.index(end) + 1]
        edit(target, "generation_config.json", eos_token_id=[never, end])
        ended = decode(load_pair(target, head, device="cpu"), PROMPT, settings)
        assert ended.output.token_ids == expected and ended.output.finish_reason == "eos"
        edit(target, "generation_config.json", eos_token_id=None)
        stopped = decode(load_pair(target, head, device="cpu"), PROMPT, DecodeConfig(max_new_tokens=40, stop_ids=(end,)))
        assert stopped.output.token_ids == expected and stopped.output.finish_reason == "stop"


# -- heads that must load ---------------------------------------------------------------------------------------------


def head_tensors(pair):
    return pair.head.state_dict()


def test_a_pickled_head_is_the_same_head(target, head):
    before = head_tensors(load_pair(target, head, device="cpu"))
    torch.save(load_file(head / "model.safetensors"), head / "pytorch_model.bin")
    (head / "model.safetensors").unlink()
    after = head_tensors(load_pair(target, head, device="cpu"))
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


class Malicious:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("what", ["head", "target"])
@pytest.mark.parametrize("protocol", ["torch", "pickle"])
def test_code_in_a_pickle_is_not_run(target, head, tmp_path, what, protocol):
    directory, mark = {"head": head, "target": target}[what], tmp_path / "code ran"
    (directory / "model.safetensors").unlink()
    with open(directory / "pytorch_model.bin", "wb") as file:
        torch.save({"fc.weight": Malicious(mark)}, file) if protocol == "torch" else pickle.dump(Malicious(mark), file)
    refused(target, head, str(directory), "not run")
    assert not mark.exists()


def test_a_bias_goes_with_a_config_that_is_silent_about_it(target, tmp_path):
    """Official LLaMA-2 and Vicuna heads have fc.bias and no such key: absent means true."""
    head = make_head(tmp_path / "head with bias", target, bias=True)
    edit(head, bias=None)
    pair = load_pair(target, head, device="cpu")
    assert torch.equal(pair.head.fc.bias, load_file(head / "model.safetensors")["fc.bias"])


def test_key_value_heads_default_to_all_heads(tmp_path):
    target = make_target(tmp_path / "target", num_key_value_heads=4)
    head = make_head(tmp_path / "head", target)
    edit(head, num_key_value_heads=None)
    assert load_pair(target, head, device="cpu").head.config.num_key_value_heads == 4


def frequencies(pair):
    return pair.head.rotary.inv_freq


def test_theta_is_the_heads_own_and_10000_where_absent(tmp_path):
    target = make_target(tmp_path / "target", rope_parameters={"rope_type": "default", "rope_theta": 500000.0})
    head = make_head(tmp_path / "head", target)
    plain = 10000.0 ** -(torch.arange(0, 8, 2) / 8)
    torch.testing.assert_close(frequencies(load_pair(target, head, device="cpu")), plain)
    edit(head, rope_theta=500000.0)
    theta = frequencies(load_pair(target, head, device="cpu"))
    torch.testing.assert_close(theta, 500000.0 ** -(torch.arange(0, 8, 2) / 8))
    edit(head, rope_theta=None, rope_parameters={"rope_type": "default", "rope_theta": 500000.0})  # as transformers 5 writes
    assert torch.equal(frequencies(load_pair(target, head, device="cpu")), theta)


@pytest.mark.parametrize("spelling", [{"rope_scaling": {"type": "linear", "factor": 4.0}},
                                      {"rope_scaling": {"rope_type": "linear", "factor": 4.0}},
                                      {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}}])
def test_linear_scaling_of_a_head(target, head, spelling):
    plain = frequencies(load_pair(target, head, device="cpu"))
    edit(head, **spelling)
    torch.testing.assert_close(frequencies(load_pair(target, head, device="cpu")), plain / 4)


def test_a_copy_of_the_embedding_is_shared_and_another_one_is_used(target, head):
    own = load_file(target / "model.safetensors")["model.embed_tokens.weight"]
    without = generate(load_pair(target, head, device="cpu"), PROMPT, SMALL)
    edit_tensors(head, lambda t: t.update({"embed_tokens.weight": own.clone()}))
    pair = load_pair(target, head, device="cpu")
    assert pair.head.embed is pair.target.model.model.embed_tokens
    edit_tensors(head, lambda t: t.update({"embed_tokens.weight": own + 1}))
    pair = load_pair(target, head, device="cpu")
    assert torch.equal(pair.head.embed.weight, own + 1)
    assert torch.equal(pair.target.model.model.embed_tokens.weight, own)
    assert generate(pair, PROMPT, SMALL) == without  # a worse draft, the same text
    assert load_pair(target, head, device="cpu", dtype="bfloat16").head.embed.weight.dtype is torch.bfloat16


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_an_embedding_of_its_own_moves_with_the_head(target, head):
    own = load_file(target / "model.safetensors")["model.embed_tokens.weight"]
    edit_tensors(head, lambda t: t.update({"embed_tokens.weight": own + 1}))
    assert len(generate(load_pair(target, head, device="cuda"), PROMPT, SMALL)) == 24


def test_half_precision_files(target, head):
    edit_tensors(head, lambda t: t.update({name: tensor.half() for name, tensor in t.items()}))
    pair = load_pair(target, head, device="cpu")
    assert pair.head.fc.weight.dtype is torch.float32
    assert torch.equal(pair.head.fc.weight, load_file(head / "model.safetensors")["fc.weight"].float())


# -- what must be refused: files --------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", ["{}", "nonsense", '{"model": {"type": "What"}, "added_tokens": []}'])
def test_a_broken_tokenizer(target, head, name, content):
    (target / name).write_text(content)
    refused(target, head, "tokenizer", str(target), "copy the checkpoint again")


@pytest.mark.parametrize("source, words", [
    ("./not/there", ("does not exist", "hub id")), ("nothere", ("does not exist", "hub id")),
    ("someone/no-such-model-0123456789", ("neither a directory", "connect")),
    ("bad id/with spaces!", ("neither a directory", "connect")),
])
@pytest.mark.parametrize("what", ["target", "head"])
def test_directories_and_hub_ids_that_are_not_there(whole, source, words, what):
    """No test asks the hub (HF_HUB_OFFLINE), so an unknown id is one that cannot be reached."""
    pair = (source, whole[1]) if what == "target" else (whole[0], source)
    refused(*pair, source, *words)


def test_a_file_instead_of_its_directory(whole):
    refused(whole[0] / "model.safetensors", whole[1], "is a file", "give the directory")


# -- what must be refused: contents -----------------------------------------------------------------------------------


def test_a_model_that_is_no_llama(target, head):
    edit(target, model_type="gpt2")
    refused(target, head, "'gpt2'", "must be a Llama")
    edit(target, model_type=None)
    refused(target, head, "None", "must be a Llama")


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
    refused(target, head, "fc.weight", "[64, 128]", "[32, 64]")


def test_a_head_with_another_vocabulary(target, head):
    edit(head, vocab_size=None)
    edit_tensors(head, lambda t: t.update({"embed_tokens.weight": torch.zeros(98, 32)}))
    refused(target, head, "does not fit the target", "[98, 32]", "[97, 32]")


@pytest.mark.parametrize("name", ["fc.weight", "layers.0.self_attn.k_proj.weight", "layers.0.post_attention_layernorm.weight"])
def test_a_head_with_a_tensor_missing_surplus_or_misshapen(target, head, name):
    edit_tensors(head, lambda t: t.update({name: torch.ones(3, 5)}))
    refused(target, head, str(head), name, "[3, 5]")
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


def test_an_eagle_3_head_is_recognised(target, head):
    """The layout of official EAGLE-3 heads (semantics page, 3.2)."""
    def eagle3(t):
        t.clear()
        t |= {"fc.weight": torch.zeros(32, 96), "midlayer.hidden_norm.weight": torch.zeros(32), "norm.weight": torch.zeros(32),
              "lm_head.weight": torch.zeros(50, 32), "d2t": torch.zeros(50, dtype=torch.long),
              "t2d": torch.zeros(97, dtype=torch.bool)}
    edit(head, draft_vocab_size=50)
    edit_tensors(head, eagle3)
    refused(target, head, "EAGLE-3 head", "EAGLE-1/2")


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
    with pytest.raises(CheckpointError, match=r'no pair "nobody"; there is smollm2-135m.*--target'):
        load_named("nobody")

    def fetched(progress):
        raise AssertionError("fetched before the flags were read")

    from core import pairs
    monkeypatch.setitem(pairs.PAIRS, "smollm2-135m", pairs.NamedPair("smollm2-135m", "", "", fetched, None))
    with pytest.raises(CheckpointError, match="tpu"):
        load_named("smollm2-135m", device="tpu")
    with pytest.raises(CheckpointError, match="int8"):
        load_named("smollm2-135m", dtype="int8")


def test_a_named_pair_loads_with_its_own_names(whole, monkeypatch):
    from core import pairs
    monkeypatch.setitem(pairs.PAIRS, "toy", pairs.NamedPair("toy", "", "", lambda progress: (whole[0], "where from"), whole[1]))
    told = []
    pair = load_named("toy", device="cpu", progress=lambda line, share=None: told.append(line))
    assert (pair.name, pair.target_source, pair.draft_source) == ("toy", "where from", "toy (ours)")
    assert told == ["Loading toy"]
