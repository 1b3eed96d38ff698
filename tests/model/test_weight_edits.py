"""A loaded model's weights are anybody's to change: every run, and every call between two steps, sees them as they are."""

import copy

import pytest
import torch
from pair_maker import make_head, make_target
from safetensors.torch import load_file, save_file
from torch.nn.utils import parametrize, prune
from transformers import LlamaForCausalLM

from core import DecodeConfig, decode, load_pair, stream
from core.measure.check import check
from core.model.linear import FewRowsLinear, _seal, layer_of, refresh, speed_up

PROMPT = [1, 5, 9, 3, 60, 21, 33]
CONFIG = DecodeConfig(top_k=4, depth=3, total_tokens=20, max_new_tokens=24)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edits")
    target = make_target(folder / "target", tie_word_embeddings=True)
    return target, make_head(folder / "head", target)


def load(folders):
    return load_pair(*folders, device="cpu")


def plainest(folders):
    return LlamaForCausalLM.from_pretrained(folders[0], dtype=torch.float32).eval()


def generated(model, prompt=PROMPT):
    ids = torch.tensor([prompt])
    return model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=CONFIG.max_new_tokens,
                          eos_token_id=None, pad_token_id=0)[0, len(prompt):].tolist()


def mlp(model):
    return model.model.layers[-1].mlp


def noise(like):
    return torch.randn(like.shape, generator=torch.Generator().manual_seed(5)) * like.std()


def zeroed(model):
    with torch.no_grad():
        mlp(model).down_proj.weight.zero_()


def through_data(model):
    mlp(model).down_proj.weight.data.mul_(-1)


def through_numpy(model):
    mlp(model).down_proj.weight.detach().numpy()[:] *= 3


def merged_as_peft_does(model):
    for layer in model.model.layers:
        layer.self_attn.v_proj.weight.data += noise(layer.self_attn.v_proj.weight)


def in_inference_mode(model):
    with torch.inference_mode():
        mlp(model).gate_proj.weight.mul_(4)


def rows_that_change_places(model):
    weight = model.model.layers[0].self_attn.v_proj.weight
    weight.data.copy_(weight.data.flip(0))


def columns_that_change_sign(model):
    model.model.layers[0].self_attn.v_proj.weight.data[:, 1::2] *= -1


def replaced(model):
    mlp(model).up_proj.weight = torch.nn.Parameter(noise(mlp(model).up_proj.weight))


def another_tensor(model):
    mlp(model).up_proj.weight.data = noise(mlp(model).up_proj.weight)


def another_layer(model):
    layer = mlp(model).up_proj
    mlp(model).up_proj = layer_of(noise(layer.weight))


def through_the_tied_embedding(model):
    model.model.embed_tokens.weight.data.copy_(noise(model.model.embed_tokens.weight))


def with_a_bias(model):
    mlp(model).down_proj.bias = torch.nn.Parameter(noise(mlp(model).down_proj.weight[:, 0]) * 30)


def pruned(model):
    prune.l1_unstructured(mlp(model).down_proj, "weight", 0.5)
    mlp(model).down_proj.weight_orig.data.mul_(3)


def parametrized(model):
    class Halved(torch.nn.Module):
        def forward(self, weight):
            return -2 * weight
    parametrize.register_parametrization(mlp(model).down_proj, "weight", Halved())


def loaded(model, **how):
    model.load_state_dict({name: noise(x) if x.dim() == 2 else x for name, x in model.state_dict().items()}, **how)


def loaded_and_assigned(model):
    loaded(model, assign=True)


EDITS = [zeroed, through_data, through_numpy, merged_as_peft_does, in_inference_mode, rows_that_change_places,
         columns_that_change_sign, replaced, another_tensor, another_layer, through_the_tied_embedding, with_a_bias, pruned,
         parametrized, loaded, loaded_and_assigned]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_a_run_reads_the_weights_as_they_are(folders, edit):
    pair, reference = load(folders), plainest(folders)
    before = decode(pair, PROMPT, CONFIG).output.token_ids
    edit(pair.target.model)
    edit(reference)
    truth = generated(reference)
    assert truth != before, "an edit that changes nothing shows nothing"
    assert generated(pair.target.model) == truth, "outside a run"
    assert decode(pair, PROMPT, CONFIG).output.token_ids == truth
    assert check(pair, PROMPT, CONFIG, truth)["lossless"]


def test_between_two_steps_of_a_run_the_model_is_as_its_weights_say(folders):
    pair, reference = load(folders), plainest(folders)
    events = stream(pair, PROMPT, CONFIG)
    for _ in range(4):
        next(events)
    through_data(pair.target.model)
    through_data(reference)
    ids = torch.tensor([PROMPT])
    with torch.inference_mode():
        assert torch.allclose(pair.target.model(ids).logits, reference(ids).logits, atol=1e-4)


def test_a_head_with_other_weights_drafts_as_one_loaded_with_them(folders, tmp_path):
    target, head = folders
    other = {name: noise(x) for name, x in load_file(head / "model.safetensors").items()}
    changed = tmp_path / "head"
    changed.mkdir()
    (changed / "config.json").write_text((head / "config.json").read_text())
    save_file(other, changed / "model.safetensors", metadata={"format": "pt"})
    pair = load(folders)
    before = decode(pair, PROMPT, CONFIG)
    fresh = load_pair(target, changed, device="cpu")
    pair.head.load_state_dict(fresh.head.state_dict())
    trace, expected = decode(pair, PROMPT, CONFIG), decode(fresh, PROMPT, CONFIG)
    assert [r.candidates for r in trace.rounds] == [r.candidates for r in expected.rounds]
    assert trace.rounds[0].candidates != before.rounds[0].candidates


def test_a_copy_of_a_loaded_model_is_edited_apart_from_it(folders):
    pair = load(folders)
    before = decode(pair, PROMPT, CONFIG).output.token_ids
    apart, reference = copy.deepcopy(pair), plainest(folders)
    loaded(apart.target.model)
    loaded(reference)
    assert decode(apart, PROMPT, CONFIG).output.token_ids == generated(reference)
    assert decode(pair, PROMPT, CONFIG).output.token_ids == before


@pytest.mark.parametrize("width", [24, 25])
def test_a_seal_tells_edits_that_sums_alone_would_miss(width):
    weight = torch.randn(40, width)
    seals = [_seal(weight)]
    for edit in (lambda w: w, lambda w: w.flip(0), lambda w: w.flip(1), lambda w: -w, lambda w: w.roll(2, 0),
                 lambda w: torch.cat([w[:, :-2], -w[:, -2:]], 1), lambda w: w.index_fill(0, torch.tensor([3]), torch.nan)):
        seals.append(_seal(edit(weight.clone())))
    one_bit = weight.clone()
    one_bit.view(torch.int32)[7, 3] ^= 1
    seals.append(_seal(one_bit))
    assert torch.equal(seals[0], seals[1])
    for i, seal in enumerate(seals[1:]):
        assert not any(torch.equal(seal, other) for other in seals[i + 2:])
    assert torch.equal(seals[-2], _seal(weight.index_fill(0, torch.tensor([3]), torch.nan))), "NaN is no change"


def test_what_has_not_changed_is_not_laid_out_anew():
    layers = speed_up(torch.nn.Sequential(layer_of(torch.randn(40, 24)), layer_of(torch.randn(24, 40))))
    assert all(type(layer) is FewRowsLinear for layer in layers)
    laid_out = [layer.packed for layer in layers]
    layers[1].weight.data.add_(1)
    assert len(refresh(layers)) == 1
    assert layers[0].packed is laid_out[0] and (laid_out[1] is None or layers[1].packed is not laid_out[1])
