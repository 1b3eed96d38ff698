"""EAGLE-3 heads that would load in a lenient program and draft nonsense: each is one sentence that names what is
wrong."""

import pytest
import torch
from eagle3_maker import IDS, make_head3
from pair_files import edit, edit_tensors, refused
from pair_maker import make_target

from core import load_pair


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return make_target(tmp_path_factory.mktemp("refused") / "target", num_hidden_layers=9)


@pytest.fixture
def head(target, tmp_path):
    return make_head3(tmp_path / "head", target)


def put(head, **tensors):
    edit_tensors(head, lambda t: t.update({name.replace("__", "."): tensor for name, tensor in tensors.items()}))


def take(head, *names):
    edit_tensors(head, lambda t: [t.pop(name) for name in names])


def test_the_sound_head_loads(target, head):
    load_pair(target, head, device="cpu")


# -- every tensor accounted for ----------------------------------------------------------------------------------------

EACH = ["fc.weight", "norm.weight", *(f"midlayer.{name}.weight" for name in (
    "hidden_norm", "input_layernorm", "post_attention_layernorm", "self_attn.q_proj", "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"))]


@pytest.mark.parametrize("name", EACH)
def test_a_tensor_that_is_missing(target, head, name):
    take(head, name)
    refused(target, head, str(head), f"lacks the tensor {name}", "EAGLE-3 layout")


@pytest.mark.parametrize("name, found", [("midlayer.hidden_norm.weight", [31]),
                                         ("midlayer.self_attn.k_proj.weight", [16, 32]),
                                         ("midlayer.mlp.up_proj.weight", [48, 64]), ("norm.weight", [64])])
def test_a_tensor_of_another_shape(target, head, name, found):
    put(head, **{name: torch.zeros(found)})
    refused(target, head, str(head), name, str(found), "ask for")


def test_a_tensor_too_many(target, head):
    put(head, midlayer__extra__weight=torch.zeros(3))
    refused(target, head, "a tensor too many, midlayer.extra.weight")


def test_one_tensor_under_two_names(target, head):
    put(head, layers__0__hidden_norm__weight=torch.ones(32))
    refused(target, head, "has midlayer.hidden_norm.weight twice", "layers.0.hidden_norm.weight")


def test_whole_numbers_for_weights(target, head):
    edit_tensors(head, lambda t: t.update({"fc.weight": t["fc.weight"].to(torch.int8)}))
    refused(target, head, "fc.weight as int8", "not quantised")


# -- which kind, which layers ------------------------------------------------------------------------------------------


def test_neither_kind(target, head):
    edit_tensors(head, lambda t: (t.clear(), t.update({"fc.weight": torch.zeros(32, 128)})))
    refused(target, head, str(head), "fc.weight is 32 x 128", "EAGLE-1/2 head has 32 x 64 with an embedding of 32",
            "EAGLE-3 head 32 x 96")


@pytest.mark.parametrize("layers", [1, 2, 4, 5, 6])
def test_a_target_with_too_few_layers(tmp_path, layers):
    target = make_target(tmp_path / "target", num_hidden_layers=layers)
    head = make_head3(tmp_path / "head", target)
    refused(target, head, str(head), f"the target has {layers} layers, too few for features 2, L/2 and L-3",
            "the head must name its own in eagle_aux_hidden_state_layer_ids")
    if layers == 5:
        edit(head, **{IDS: [1, 3, 5]})
        assert load_pair(target, head, device="cpu").head.taps == (1, 3, 5)


@pytest.mark.parametrize("keys, words", [
    ({IDS: [2, 4, 10]}, ["[2, 4, 10]", "9 layers", "from 0 to 9", "32 x 96"]),
    ({IDS: [-1, 4, 9]}, ["[-1, 4, 9]", "from 0 to 9"]),
    ({IDS: [2, 2, 9]}, ["[2, 2, 9]", "different"]),
    ({"eagle_config": {IDS: [1, 4, 9]}}, ["[1, 4, 9]", "9 layers", "from 0 to 8"]),
    ({IDS: [2, 4]}, ["reads 2 layers", "2, 4 of 9", "fc.weight is 32 x 96", "3 features of 32"]),
    ({IDS: [1, 2, 4, 6]}, ["reads 4 layers", "1, 2, 4, 6 of 9", "fc.weight is 32 x 96"]),
    ({IDS: "2,4,6"}, [IDS, "'2,4,6'", "list of whole numbers"]),
    ({IDS: [2, 4, True]}, ["list of whole numbers"]),
    ({IDS: []}, ["[]", "9 layers"]),
])
def test_layers_that_cannot_be_read(target, head, keys, words):
    edit(head, **keys)
    refused(target, head, str(head), *words)


def test_an_fc_for_another_number_of_features(target, head):
    put(head, fc__weight=torch.zeros(32, 80))
    refused(target, head, "reads 3 layers", "2, 4, 6 of 9", "fc.weight is 32 x 80", "2.5 features of 32")


# -- the draft vocabulary ----------------------------------------------------------------------------------------------


def test_no_map_of_a_smaller_vocabulary(target, head):
    take(head, "d2t")
    refused(target, head, str(head), "40 of 97 tokens", "lacks the tensor d2t")


@pytest.mark.parametrize("change, words", [
    (lambda d: d[:-1], ["d2t as int64 [39]", "40 whole numbers"]),
    (lambda d: d.float(), ["d2t as float32 [40]"]),
    (lambda d: d + torch.arange(40), ["d2t 67 for row 31", "token 98, outside the 97",
                                          "as offsets"]),  # ids, not offsets
    (lambda d: d.index_fill(0, torch.tensor([7]), 90), ["d2t 90 for row 7", "token 97", "outside the 97"]),
    (lambda d: d.index_fill(0, torch.tensor([0]), -1), ["d2t -1 for row 0", "token -1", "outside the 97"]),
    (lambda d: torch.cat([d[:5], d[4:5] - 1, d[6:]]), ["for row 5", "another row means too"]),
    (lambda d: torch.full_like(d, 57), ["t2d [97] with 40 tokens", "d2t means other ones"]),
])
def test_a_map_that_maps_wrongly(target, head, change, words):
    edit_tensors(head, lambda t: t.update(d2t=change(t["d2t"])))
    refused(target, head, str(head), *words)


def test_the_other_map_of_another_length(target, head):
    put(head, t2d=torch.ones(40, dtype=torch.bool))
    refused(target, head, "t2d [40] with 40 tokens", "40 of 97")


def test_sizes_that_disagree(target, head):
    edit(head, draft_vocab_size=50)
    refused(target, head, "lm_head.weight with 40 rows", "draft_vocab_size 50")
    edit(head, draft_vocab_size=40, vocab_size=98)
    refused(target, head, "vocab_size is 98", "vocabulary of the target 97")
    edit(head, vocab_size=None, hidden_size=48)
    refused(target, head, "hidden_size is 48", "fc.weight 32")
    edit(head, hidden_size=None, target_hidden_size=64)
    refused(target, head, "target_hidden_size is 64", "width of the target 32")
    edit(head, target_hidden_size=None, draft_vocab_size=None)
    put(head, lm_head__weight=torch.zeros(98, 32))
    refused(target, head, "lm_head.weight with 98 rows, more than the 97")


def test_no_output_of_its_own(target, head, tmp_path):
    take(head, "lm_head.weight")
    refused(target, head, "lacks the tensor lm_head.weight", "97 x 32", "40 x 32")
    wide = make_head3(tmp_path / "wide", target, hidden=48, words=97)
    take(wide, "lm_head.weight")
    refused(target, wide, "lacks the tensor lm_head.weight", "97 x 32", "97 x 48")


# -- another width -----------------------------------------------------------------------------------------------------


def test_another_width_needs_an_embedding(target, tmp_path):
    head = make_head3(tmp_path / "wide", target, hidden=48)
    take(head, "embed_tokens.weight")
    refused(target, head, str(head), "48 wide and the target 32", "embed_tokens.weight")
    put(head, embed_tokens__weight=torch.zeros(97, 32))
    refused(target, head, "embed_tokens.weight as [97, 32]", "[97, 48]")


# -- variants ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tensors, words", [
    ({"midlayer.self_attn.q_norm.weight": [8]}, ["has query norms (midlayer.self_attn.q_norm.weight): a Qwen3-style "
                                                 "head, not supported"]),
    ({"midlayer.self_attn.k_norm.weight": [8]}, ["query norms", "k_norm"]),
    ({"layers.1.self_attn.q_proj.weight": [32, 32]}, ["more than one layer", "layers.1.self_attn.q_proj.weight"]),
    ({"fc.bias": [32]}, ["bias (fc.bias)"]),
    ({"midlayer.self_attn.q_proj.bias": [32]}, ["bias (midlayer.self_attn.q_proj.bias)"]),
    ({"midlayer.self_attn.kv_a_proj_with_mqa.weight": [8, 64]}, ["latent attention", "kv_a_proj"]),
    ({"midlayer.mlp.experts.0.up_proj.weight": [8, 32]}, ["mixture of experts"]),
    ({"mask_hidden": [32]}, ["several tokens a pass", "P-EAGLE"]),
    ({"midlayer.mlp.up_proj.weight_scale": [1]}, ["quantised weights", "weight_scale"]),
    ({"input_norm.weight": [96]}, ["has input_norm.*", '"norm_before_fc": false', "one of them is wrong"]),
    ({"fc_norm.0.weight": [32]}, ["has fc_norm.*", '"fc_norm": false']),
])
def test_variants_told_by_a_tensor(target, head, tensors, words):
    put(head, **{name: torch.ones(size) for name, size in tensors.items()})
    refused(target, head, str(head), *words)


@pytest.mark.parametrize("keys, words", [
    ({"eagle_config": {"use_aux_hidden_state": False}},
     ["use_aux_hidden_state False", "EAGLE-3 has True", "not supported"]),
    ({"eagle_config": {"use_mtp_layernorm": True}}, ["use_mtp_layernorm True"]),
    ({"eagle_config": {"next_layer_regular": False}}, ["next_layer_regular False"]),
    ({"use_last_layernorm": False}, ["use_last_layernorm False"]),
    ({"parallel_drafting": True}, ["parallel_drafting", "several tokens a pass"]),
    ({"use_sliding_window": True, "sliding_window": 64}, ["sliding_window", "not supported"]),
    ({"layer_types": ["sliding_attention"]}, ["sliding_window"]),
    ({"norm_before_fc": True}, ["has no input_norm.*", '"norm_before_fc": true']),
    ({"fc_norm": True}, ["has no fc_norm.*", '"fc_norm": true']),
    ({"norm_before_residual": "yes"}, ["norm_before_residual 'yes'", "true or false"]),
    ({"rope_scaling": {"rope_type": "spiral", "factor": 2.0}},
     ["rope_scaling of type 'spiral'", "not supported", "yarn"]),
    ({"rope_scaling": {"type": "mrope", "mrope_section": [1, 2, 1]}}, ["mrope_section"]),
    ({"rope_parameters": {"rope_type": "spiral"}}, ["rope_parameters of type 'spiral'"]),
    ({"num_attention_heads": None}, ["num_attention_heads", "copy the head"]),
    ({"num_key_value_heads": 3}, ["k_proj"]),
    ({"hidden_act": "swoosh"}, ["swoosh"]),
])
def test_variants_told_by_the_config(target, head, keys, words):
    edit(head, **keys)
    refused(target, head, str(head), *words)


def test_two_norms_in_front_of_fc(target, tmp_path):
    head = make_head3(tmp_path / "head", target, norm_before_fc=True, fc_norm=True)
    refused(target, head, "both norm_before_fc and fc_norm")
