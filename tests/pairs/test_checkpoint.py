"""Checkpoints of every shape that must load."""

import json
import os
import pickle
import shutil

import huggingface_hub
import pytest
import torch
from pair_files import copy_of_head, copy_of_target, edit, edit_tensors, refused, whole_pair
from pair_maker import GOLDEN, make_head, make_target
from safetensors.torch import load_file
from toy_tokenizers import byte_level
from transformers import LlamaForCausalLM

from core import DecodeConfig, generate, load_pair
from core.measure.check import check

SMALL = DecodeConfig(top_k=4, depth=3, total_tokens=20, max_new_tokens=24)
PROMPT = [5, 17, 3, 8]

whole = pytest.fixture(scope="module", name="whole")(whole_pair)
target = pytest.fixture(name="target")(copy_of_target)
head = pytest.fixture(name="head")(copy_of_head)


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


@pytest.mark.parametrize("pickled", [False, True])
def test_weights_are_fetched_in_one_spelling_only(target, head, monkeypatch, pickled):
    """Repositories often hold safetensors and pickles of the same weights; the second is asked for only if it must be."""
    if pickled:
        torch.save(load_file(target / "model.safetensors"), target / "pytorch_model.bin")
        (target / "model.safetensors").unlink()
    asked = []

    def snapshot(source, allow_patterns, **how):
        assert source == "someone/model"
        asked.append({p for p in allow_patterns if p in ("*.safetensors", "*.bin")})
        return str(target)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    pair = load_pair("someone/model", head, device="cpu")
    assert asked == [set(), {"*.safetensors"}, *([{"*.bin"}] if pickled else [])]  # what it is before what it weighs
    assert pair.target_source == "someone/model" and pair.name == "someone/model + head"


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
        torch.save({"fc.weight": Malicious(mark)}, file) if protocol == "torch" else pickle.dump(Malicious(mark), file, 2)
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


@pytest.mark.filterwarnings("ignore::core.errors.PairWarning")  # tests/pairs/test_heads.py reads it
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
