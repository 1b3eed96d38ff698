"""Heads as other people's programs leave them: those that must load, and those that are named for what they are."""

import json
import warnings

import pytest
import torch
from cli import call
from pair_files import copy_of_head, copy_of_target, edit, edit_tensors, refused, whole_pair
from pair_maker import make_head, make_target
from safetensors.torch import load_file, save_file
from transformers import LlamaForCausalLM

from core import DecodeConfig, generate, load_pair
from core.errors import PairWarning
from core.train.objective import unroll
from core.train.training import save_head

whole = pytest.fixture(scope="module", name="whole")(whole_pair)
target = pytest.fixture(name="target")(copy_of_target)
head = pytest.fixture(name="head")(copy_of_head)

PROMPT = [5, 17, 3, 8]
SMALL = DecodeConfig(top_k=4, depth=3, total_tokens=20, max_new_tokens=16)


def same_head(target, head, tensors):
    """The head loads, and its weights are those of `tensors`, by value."""
    loaded = load_pair(target, head, device="cpu").head.state_dict()
    assert loaded.keys() == tensors.keys() and all(torch.equal(loaded[name], tensors[name]) for name in tensors)


def retold(head, tell):
    """Take the head's one file away and leave what `tell` makes of its tensors instead; returns the tensors."""
    tensors = load_file(head / "model.safetensors")
    (head / "model.safetensors").unlink()
    tell(tensors)
    return tensors


def shards(head, tensors, write, name):
    names, where = sorted(tensors), {}
    for part, chosen in enumerate((names[:4], names[4:]), start=1):
        file = name.replace(".", f"-0000{part}-of-00002.")
        write({n: tensors[n] for n in chosen}, head / file)
        where |= dict.fromkeys(chosen, file)
    (head / f"{name}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))


# -- must load ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write, name", [(save_file, "model.safetensors"), (torch.save, "pytorch_model.bin")])
def test_a_head_in_shards(target, head, write, name):
    same_head(target, head, retold(head, lambda t: shards(head, t, write, name)))
    (head / name.replace(".", "-00002-of-00002.")).unlink()
    refused(target, head, str(head), "lacks", name.replace(".", "-00002-of-00002."), "copy that file")


@pytest.mark.parametrize("index", ["[]", "{}", '{"weight_map": []}', '{"weight_map": {"fc.weight": 3}}',
                                   '{"weight_map": {"fc.weight": "../t/model.safetensors"}}'])
def test_an_index_that_names_no_files(target, head, index):
    retold(head, lambda t: (head / "model.safetensors.index.json").write_text(index))
    refused(target, head, "model.safetensors.index.json", "copy")


def test_a_folder_where_the_file_should_be(target, head):
    """What zero_to_fp32 makes of `pytorch_model.bin` as its output: a folder, the weights inside."""
    def tell(tensors):
        (head / "pytorch_model.bin").mkdir()
        torch.save(tensors, head / "pytorch_model.bin/pytorch_model.bin")
    same_head(target, head, retold(head, tell))
    (head / "pytorch_model.bin/pytorch_model.bin").unlink()
    refused(target, head, "holds neither model.safetensors nor pytorch_model.bin")


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod."])
def test_what_training_wraps_around_names_is_taken_off(target, head, prefix):
    def tell(tensors):
        torch.save({prefix + name: tensor for name, tensor in tensors.items()}, head / "pytorch_model.bin")
    same_head(target, head, retold(head, tell))


def test_rotary_tables_of_older_programs_are_made_anew(target, head):
    tensors = load_file(head / "model.safetensors")
    plain = generate(load_pair(target, head, device="cpu"), PROMPT, SMALL)
    edit_tensors(head, lambda t: t.update({"layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4),
                                           "layers.0.self_attn.rotary_emb.cos_cached": torch.ones(1, 1, 64, 8)}))
    same_head(target, head, tensors)
    assert generate(load_pair(target, head, device="cpu"), PROMPT, SMALL) == plain


@pytest.mark.parametrize("said", [{}, {"head_dim": 12}, {"head_dim": 8}], ids=["silent", "right", "the target's"])
def test_a_head_with_a_width_of_its_own(target, tmp_path, said):
    """Four heads of 12 in a model of 32; the drafts are what transformers' own layer of that width makes of them."""
    head = make_head(tmp_path / "wide", target, head_dim=12)
    edit(head, **{"head_dim": None} | said)
    pair = load_pair(target, head, device="cpu")
    assert pair.head.layers[0].self_attn.head_dim == pair.head.config.head_dim == 12
    torch.testing.assert_close(pair.head.rotary.inv_freq, 10000.0 ** -(torch.arange(0, 12, 2) / 12))
    model = LlamaForCausalLM.from_pretrained(target)
    ids = torch.tensor([PROMPT])
    expected = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=16, pad_token_id=0)
    assert generate(pair, PROMPT, SMALL) == expected[0, len(PROMPT):].tolist()


def test_a_head_with_a_width_of_its_own_trains(target, tmp_path):
    """The training's own forward gives what the module gives, and what is saved loads again."""
    pair = load_pair(target, make_head(tmp_path / "wide", target, head_dim=12), device="cpu")
    ids, features = torch.randint(0, 97, (2, 6)), torch.randn(2, 6, 32)
    mask = torch.ones(1, 1, 6, 6, dtype=torch.bool).tril()
    (output,) = unroll(pair.head, pair.head.embed(ids), features, 1, torch.float32)
    torch.testing.assert_close(output, pair.head(ids, features, torch.arange(6)[None], mask), rtol=1e-4, atol=1e-4)
    save_head(pair.head, tmp_path / "saved", torch.float32)
    same_head(target, tmp_path / "saved", pair.head.state_dict())


# -- named for what they are -------------------------------------------------------------------------------------------


def foreign(head, config, tensors=None):
    (head / "config.json").write_text(json.dumps(config))
    if tensors:
        save_file(tensors, head / "model.safetensors")


@pytest.mark.parametrize("config, words", [
    ({"model_type": "eagle", "model": {"hidden_size": 32}, "architectures": ["EAGLEModel"]}, ["vLLM's layout", "fc.weight"]),
    ({"speculators_model_type": "eagle", "architectures": ["EagleSpeculator"]}, ["speculators' layout", "fc.weight"]),
    ({"medusa_num_heads": 4, "medusa_num_layers": 1}, ["Medusa heads"]),
    ({"model_type": "mlp_speculator"}, ["MLP speculator"]),
])
def test_layouts_of_other_programs(target, head, config, words):
    foreign(head, config)
    refused(target, head, str(head), *words)
    (head / "model.safetensors").unlink()  # a hub id is refused by its config, before its weights are fetched
    refused(target, head, str(head), *words)


@pytest.mark.parametrize("files, words", [
    (["pytorch_model.bin", "optimizer.bin", "random_states_0.pkl"], ["training left (optimizer.bin)", "config.json"]),
    (["zero_to_fp32.py", "latest", "global_step10"], ["state that training left (global_step10)"]),
    (["adapter_config.json", "adapter_model.safetensors"], ["LoRA adapter"]),
    (["medusa_lm_head.pt"], ["Medusa heads"]),
    (["state.pt", "head", "data"], ["holds a training", "give that folder"]),
    (["readme.md"], ["config.json is missing"]),
])
def test_folders_without_a_config(target, tmp_path, files, words):
    (tmp_path / "given").mkdir()
    for name in files:
        (tmp_path / "given" / name).write_bytes(b"")
    refused(target, tmp_path / "given", str(tmp_path / "given"), *words)


def test_a_state_beside_a_sound_head_does_no_harm(target, head):
    (head / "optimizer.pt").write_bytes(b"")
    same_head(target, head, load_file(head / "model.safetensors"))
    (head / "model.safetensors").unlink()
    refused(target, head, "state that training left (optimizer.pt)")


def test_a_pickled_training_state(target, head):
    retold(head, lambda t: torch.save({"model": t, "optimizer": {}, "step": 3}, head / "pytorch_model.bin"))
    refused(target, head, "pytorch_model.bin is a state that training left (model, optimizer, step)", "save the head's part")


def test_a_language_model_and_an_adapter_in_place_of_a_head(target, head, tmp_path):
    refused(target, target, str(target), "an ordinary language model of type 'llama'", "give an EAGLE head")
    other = make_target(tmp_path / "smaller", hidden_size=16)
    refused(target, other, str(other), "an ordinary language model")
    edit_tensors(head, lambda t: t.update({"base_model.model.layers.0.self_attn.q_proj.lora_A.weight": torch.ones(2, 32)}))
    refused(target, head, "LoRA adapter")


# -- an embedding of its own -------------------------------------------------------------------------------------------


def with_embedding(head, embedding):
    edit_tensors(head, lambda t: t.update({"embed_tokens.weight": embedding.contiguous()}))


def embedding_of(target):
    return load_file(target / "model.safetensors")["model.embed_tokens.weight"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("loaded", ["float32", "bfloat16", "float16"])
def test_a_copy_in_half_precision_is_the_targets(target, head, dtype, loaded):
    edit_tensors(target, lambda t: t["model.embed_tokens.weight"][:2].copy_(torch.tensor([[torch.nan], [1e5]])))
    with_embedding(head, embedding_of(target).to(dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pair = load_pair(target, head, device="cpu", dtype=loaded)
    assert pair.notes == () and pair.head.embed is pair.target.model.model.embed_tokens


def test_an_embedding_that_is_not_the_targets_is_said(target, head, capsys):
    own = embedding_of(target)
    with_embedding(head, torch.cat([own[:40], own[40:] * 1.02]))
    with pytest.warns(PairWarning, match=r"equal to the target's in 40 of 97 rows") as said:
        pair = load_pair(target, head, device="cpu")
    assert pair.notes == (str(said[0].message),) and str(head) in pair.notes[0] and pair.notes[0].count(". ") == 0
    assert torch.equal(pair.head.embed.weight[40:], own[40:] * 1.02)
    flags = ["run", "--target", target, "--draft", head, "--device", "cpu", "--ids", "5,17,3,8", "--max-new-tokens", "4"]
    code, _, err = call(capsys, *flags)
    assert code == 0 and err == f"note: {pair.notes[0]}\n" and "--target-embedding" in err
    code, _, err = call(capsys, *flags, "--target-embedding")
    assert code == 0 and err == ""
    taken = load_pair(target, head, device="cpu", target_embedding=True)
    assert taken.notes == () and taken.head.embed is taken.target.model.model.embed_tokens


def test_the_page_knows_what_to_say_and_takes_the_targets_where_it_is_told_to(target, head):
    from treeviz.page.choices import Source
    from treeviz.page.live import Engine
    with_embedding(head, embedding_of(target)[torch.randperm(97, generator=torch.Generator().manual_seed(0))])
    for given, words in ((False, "embedding of its own"), (True, "")):
        engine = Engine(Source(None, str(target), str(head), "cpu", given))
        assert engine.notes(engine.source.name) == ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PairWarning)
            list(engine.load(engine.source.name))
        assert words in engine.notes(engine.source.name) and bool(engine.notes(engine.source.name)) == bool(words)


# -- a vocabulary that is padded ---------------------------------------------------------------------------------------


def padded(target, rows):
    """The target with rows of nothing behind its vocabulary, in place."""
    def widen(tensors):
        for name in ("lm_head.weight", "model.embed_tokens.weight"):
            tensors[name] = torch.cat([tensors[name], torch.zeros(rows, tensors[name].shape[1])])
        edit(target, vocab_size=len(tensors["lm_head.weight"]))

    edit_tensors(target, widen)


@pytest.mark.parametrize("ours, theirs", [(31, 0), (0, 31), (31, 7)])
@pytest.mark.parametrize("embedding", [True, False])
def test_a_padded_vocabulary(target, head, ours, theirs, embedding):
    """The head's, the target's or both; the head drafts as it would with neither."""
    plain = generate(load_pair(target, head, device="cpu"), PROMPT, SMALL)
    own = load_file(target / "model.safetensors")["model.embed_tokens.weight"]
    padded(target, ours)
    edit(head, vocab_size=97 + theirs)
    if embedding:
        edit_tensors(head, lambda t: t.update({"embed_tokens.weight": torch.cat([own, torch.ones(theirs, 32)])}))
    elif theirs > ours:  # no rows that could tell what the head's surplus is
        refused(target, head, "does not fit the target", "vocab_size", str(97 + theirs), str(97 + ours))
        return
    if embedding and ours and theirs:  # the 7 rows that both have disagree
        refused(target, head, "does not fit the target", str([97 + theirs, 32]), str([97 + ours, 32]))
        return
    pair = load_pair(target, head, device="cpu")
    assert pair.head.embed is pair.target.model.model.embed_tokens and not pair.notes
    assert generate(pair, PROMPT, SMALL) == plain


def test_a_vocabulary_of_another_size_is_more_than_padding(target, head, tmp_path):
    large = make_target(tmp_path / "large", vocab_size=97 + 1024)
    refused(large, head, "does not fit the target", "vocab_size", "97", "1121")


# -- the base of the rope, said twice ----------------------------------------------------------------------------------


@pytest.mark.parametrize("said, base", [
    ({"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}, "rope_theta": 10000.0}, 500000.0),
    ({"rope_parameters": {"rope_type": "default"}, "rope_theta": 500000.0}, 500000.0),
    ({"rope_scaling": {"rope_type": "default", "rope_theta": 2000.0}, "rope_theta": 10000.0}, 2000.0),
    ({"rope_scaling": {"type": "default", "rope_theta": 2000.0}, "rope_parameters": {"rope_theta": 3.0}}, 2000.0),
])
def test_a_base_said_twice_is_read_in_transformers_order(target, head, said, base):
    """In heads and in targets, whose own reading by transformers is the witness."""
    for folder in (target, head):
        edit(folder, rope_parameters=None)
        edit(folder, **said)
    pair = load_pair(target, head, device="cpu")
    witness = LlamaForCausalLM.from_pretrained(target).model.rotary_emb.inv_freq
    torch.testing.assert_close(witness, base ** -(torch.arange(0, 8, 2) / 8))
    assert torch.equal(pair.head.rotary.inv_freq, witness)
    assert torch.equal(pair.target.model.model.rotary_emb.inv_freq, witness)
