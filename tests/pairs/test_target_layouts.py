"""What people hold as the target: every tensor accounted for, and whatever is no target called by its name."""

import json
import shutil

import pytest
import torch
from cli import call
from pair_files import copy_of_head, copy_of_target, edit, edit_tensors, refused, whole_pair
from pair_maker import make_target
from safetensors.torch import load_file, save_file
from test_checkpoint import PROMPT, SMALL, by_transformers, decoded

from core import generate, load_pair

whole = pytest.fixture(scope="module", name="whole")(whole_pair)
target = pytest.fixture(name="target")(copy_of_target)
head = pytest.fixture(name="head")(copy_of_head)

LAYER = "model.layers.0"
ATTENTION, MLP = f"{LAYER}.self_attn", f"{LAYER}.mlp"


# -- every tensor is accounted for -------------------------------------------------------------------------------------


@pytest.mark.parametrize("names, words", [
    ([f"{ATTENTION}.{n}_proj.bias" for n in "qkvo"], ("self_attn", "and 3 more", '"attention_bias": true')),
    ([f"{ATTENTION}.{n}_proj.bias" for n in "qkv"], ("self_attn", "and 2 more", "o_proj.bias", "another architecture")),
    ([f"{MLP}.up_proj.bias"], (f"{MLP}.up_proj.bias", '"mlp_bias": true')),
    ([f"{ATTENTION}.q_proj.weight_scale_inv"], ("weight_scale_inv", '"quantization_config"')),
    ([f"{ATTENTION}.k_scale"], ("k_scale", '"quantization_config"')),
    ([f"{MLP}.up_proj.qweight", f"{MLP}.up_proj.qzeros", f"{MLP}.up_proj.g_idx"], ("g_idx", '"quantization_config"')),
    ([f"{MLP}.up_proj.weight.{n}" for n in ("absmax", "quant_state.bitsandbytes__nf4")], ('"quantization_config"',)),
    ([f"{MLP}.up_proj.weight_packed", f"{MLP}.up_proj.weight_shape"], ("weight_packed", '"quantization_config"')),
    (["model.layers.3.input_layernorm.weight"], ("model.layers.3.", '3 as "num_hidden_layers"')),
    ([f"{ATTENTION}.q_norm.weight"], ("q_norm", "another architecture")),
    (["score.weight"], ("score.weight", "classifier")),
    (["fc.weight"], ("fc.weight", "part of a head", "--draft")),
    ([f"base_model.model.{ATTENTION}.q_proj.lora_A.weight"], ("lora_A", "LoRA", "merge_and_unload")),
    (["model.norm.bias"], ("model.norm.bias", "another architecture")),
])
@pytest.mark.parametrize("pickled", [False, True])
def test_a_tensor_that_the_config_does_not_ask_for(target, head, names, words, pickled):
    """The weights that the config asks for are all there: only their company is wrong."""
    edit_tensors(target, lambda t: t.update({name: torch.ones(3) for name in names}))
    if pickled:
        torch.save(load_file(target / "model.safetensors"), target / "pytorch_model.bin")
        (target / "model.safetensors").unlink()
    refused(target, head, str(target), "does not ask for", *words)


def test_what_the_advice_says_is_right(target, head):
    """The key that would ask for the biases asks for them: the text is then that of the biased model."""
    plain = decoded(target, head)
    torch.manual_seed(1)
    edit_tensors(target, lambda t: t.update({name.replace(".weight", ".bias"): torch.randn(len(weight)) * 9
                                             for name, weight in t.items() if "self_attn" in name}))
    refused(target, head, '"attention_bias": true')
    edit(target, attention_bias=True)
    assert decoded(target, head) == by_transformers(target) != plain


def test_rotary_tables_of_older_programs_do_no_harm(target, head):
    plain = decoded(target, head)
    edit_tensors(target, lambda t: t.update({f"{ATTENTION}.rotary_emb.{name}": torch.ones(4)
                                             for name in ("inv_freq", "cos_cached", "sin_cached")}))
    assert decoded(target, head) == by_transformers(target) == plain


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32])
def test_whole_numbers_are_no_weights(target, head, dtype):
    """transformers reads them as if they were the weights; what they are multiplied with is not there."""
    name = f"{ATTENTION}.q_proj.weight"
    edit_tensors(target, lambda t: t.update({name: t[name].to(dtype)}))
    refused(target, head, name, str(dtype)[6:].replace("uint", "u").replace("int", "i").upper(), "quantization_config")


def test_two_tensors_for_one_place(target, head):
    """With and without the prefix both are taken, and the one that comes last stays."""
    edit_tensors(target, lambda t: t.update({"norm.weight": torch.zeros(32)}))
    refused(target, head, "norm.weight twice", "model.norm.weight")


def test_names_as_training_wraps_them(target, head):
    edit_tensors(target, lambda t: [t.update({f"module.{name}": t.pop(name)}) for name in list(t)])
    refused(target, head, "module.lm_head.weight", "without its wrapper")


# -- models without an output ------------------------------------------------------------------------------------------


def base_model(target, **config):
    edit(target, architectures=["LlamaModel"], **config)
    edit_tensors(target, lambda t: [t.pop("lm_head.weight"),
                                    *(t.update({name.removeprefix("model."): t.pop(name)}) for name in list(t))])


def test_a_base_model(target, head, tmp_path):
    base_model(target)
    refused(target, head, "lacks lm_head.weight", "base model (LlamaModel)", "tie_word_embeddings")
    edit(target, tie_word_embeddings=True)  # as the sentence says
    assert decoded(target, head) == by_transformers(target)


def test_a_tied_flag_beside_an_output_of_its_own(target, head):
    """transformers takes the output that is there; so do we."""
    plain = decoded(target, head)
    edit(target, tie_word_embeddings=True)
    assert decoded(target, head) == by_transformers(target) == plain


# -- quantised, wrong, absent ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bitsandbytes", "awq", "gptq", "compressed-tensors", "no-such-method", None])
def test_quantised_weights_that_cannot_be_read_here(target, head, method):
    """Refused before the weights are opened: the packages are not here, and the file holds no weights at all."""
    how = {"load_in_4bit": True} if method == "bitsandbytes" else {"bits": 4, "group_size": 128}
    edit(target, quantization_config={"quant_method": method} | how)
    (target / "model.safetensors").write_bytes(b"not read")
    refused(target, head, str(target), "is quantised", str(method), "give the checkpoint that was quantised")


def test_values_that_are_null(target, head):
    edit(target, "config.json")
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(config | {"max_position_embeddings": None}))
    refused(target, head, str(target / "config.json"), "max_position_embeddings", "mend that value")


def test_no_model_type(target, head):
    edit(target, model_type=None)
    refused(target, head, '"model_type": "llama"', "write")


@pytest.mark.parametrize("files, words", [
    (["adapter_config.json", "adapter_model.safetensors"], ("LoRA adapter", "merge_and_unload")),
    (["params.json", "consolidated.00.pth"], ("Meta's original files", "convert_llama_weights_to_hf")),
    (["consolidated.00.pth"], ("Meta's original files",)),
    (["llama-7b.Q4_K_M.gguf"], ("GGUF", "safetensors")),
    (["models--owner--name/refs/main"], ("the hub's cache", "hub id")),
    (["checkpoint-500/config.json", "checkpoint-1000/config.json"], ("folders with a model each", "checkpoint-1000")),
    (["tf_model.h5"], ("TensorFlow",)),
    ([], ("config.json is missing",)),
])
@pytest.mark.parametrize("config", [False, True])
def test_folders_that_hold_something_else(target, head, tmp_path, files, words, config):
    """Without a config, and with one but without the weights."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    if config:
        shutil.copy(target / "config.json", folder)
    refused(folder, head, str(folder), *(words if files or not config else ("has no weights", "model.safetensors")))


def test_a_shard_that_is_not_there(target, head):
    tensors = load_file(target / "model.safetensors")
    (target / "model.safetensors").unlink()
    names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    save_file(tensors, target / names[0], metadata={"format": "pt"})
    where = {name: names[i % 2] for i, name in enumerate(tensors)}
    (target / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    refused(target, head, str(target), f"lacks {names[1]}", "model.safetensors.index.json names", "copy that file")


# -- what is said of a target that loads -------------------------------------------------------------------------------


def test_a_sliding_window_is_said(target, head):
    """A Llama attends to everything; transformers' cache forgets what the window leaves behind, its model does not."""
    plain = generate(load_pair(target, head, device="cpu"), PROMPT, SMALL)
    edit(target, sliding_window=6)
    with pytest.warns(UserWarning, match="sliding_window of 6"):
        pair = load_pair(target, head, device="cpu")
    assert "every token sees the whole text" in pair.notes[0] and generate(pair, PROMPT, SMALL) == plain
    ids = torch.tensor([PROMPT])
    whole = pair.target.model.generate(ids, do_sample=False, max_new_tokens=24, use_cache=False, pad_token_id=0)
    assert whole[0, len(PROMPT):].tolist() == plain
    edit(target, sliding_window=256)
    assert not load_pair(target, head, device="cpu").notes  # it ends where the context does


def test_an_adapter_beside_whole_weights_is_said(target, head):
    plain = decoded(target, head)
    (target / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    with pytest.warns(UserWarning, match="not applied"):
        assert decoded(target, head) == plain


def test_paths_of_a_home(target, head, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_pair("~/target", "~/head", device="cpu").name == "target + head"
    status, _, err = call(capsys, "run", "--target=~/target", "--draft=~/head", "--ids=5,17", "--max-new-tokens=4",
                          "--trace=~/run.json", "--device=cpu")
    assert status == 0 and (tmp_path / "run.json").exists(), err


def test_a_larger_vocabulary_than_the_weights_have(tmp_path, head):
    target = make_target(tmp_path / "wide", vocab_size=97)
    edit(target, vocab_size=128)
    refused(target, head, "[97, 32]", "[128, 32]", "of one model")
    edit(target, vocab_size=97, num_hidden_layers=10**9)  # found before as many are built
    refused(target, head, "30 tensors", "1000000000 layers", "of one model")


@pytest.mark.parametrize("model, generation, ours", [(89, None, (89,)), (89, 67, (67,)), (89, [67, 36], (67, 36)),
                                                     (89, "absent", (89,)), ([89, 67], "absent", (89, 67))])
def test_the_ids_that_end_a_text_and_where_generate_differs(target, head, model, generation, ours):
    """generation_config.json's, as generate; where it is silent config.json's, and generate goes on."""
    edit(target, eos_token_id=model)
    if generation == "absent":
        (target / "generation_config.json").unlink()
    else:
        edit(target, "generation_config.json", eos_token_id=generation)
    pair = load_pair(target, head, device="cpu")
    ids = pair.target.model.generate(torch.tensor([PROMPT]), do_sample=False, max_new_tokens=24, pad_token_id=0)
    theirs, said = ids[0, len(PROMPT):].tolist(), generate(pair, PROMPT, SMALL)
    assert pair.eos_ids == ours and said[-1] in ours and len(said) < 24
    assert len(theirs) == 24 and theirs[: len(said)] == said if generation is None else theirs == said
