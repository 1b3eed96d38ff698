"""A loaded model may be turned, moved and set otherwise: what comes out is what it now writes, or one sentence."""

import json

import pytest
import torch
from pair_maker import make_head, make_target
from test_weight_edits import CONFIG, PROMPT, generated

from core import decode, generate, load_pair
from core.errors import DecodeError
from core.measure.check import check
from core.model import target
from core.pairs.checkpoint import CheckpointError


@pytest.fixture
def folders(tmp_path):
    folder = make_target(tmp_path / "target")
    return folder, make_head(tmp_path / "head", folder)


@pytest.mark.parametrize("piece", [4, 1024])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_model_that_is_set_to_another_attention_writes_the_same(folders, monkeypatch, attention, piece):
    """eager: as whoever looks at its weights sets it; it adds the mask that sdpa reads as true and false."""
    monkeypatch.setattr(target, "PIECE", piece)
    pair = load_pair(*folders, device="cpu")
    before = generated(pair.target.model)
    pair.target.model.set_attn_implementation(attention)
    assert generate(pair, PROMPT, CONFIG) == generated(pair.target.model) == before


def test_an_attention_without_such_masks_is_a_sentence(folders):
    pair = load_pair(*folders, device="cpu")
    pair.target.model.config._attn_implementation = "flex_attention"
    with pytest.raises(DecodeError, match=r"flex_attention, which takes no mask of a tree; run pair\.target\.model"):
        generate(pair, PROMPT, CONFIG)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_pair_that_is_turned_decodes_in_its_new_dtype(folders, dtype):
    pair = load_pair(*folders, device="cpu")
    pair.target.model.to(dtype)
    with pytest.raises(DecodeError, match=f"in {str(dtype)[6:]} and its head in float32; turn both"):
        generate(pair, PROMPT, CONFIG)
    pair.head.to(dtype)
    out = generate(pair, PROMPT, CONFIG)
    if dtype is torch.float64:  # in half precision a tree's rows may round otherwise
        assert out == generated(pair.target.model)
    assert len(out) == CONFIG.max_new_tokens and pair.describe()["dtype"] == str(dtype)[6:]


def test_a_config_that_asks_for_tuples_is_a_config_like_others(folders):
    path = folders[0] / "config.json"
    usual = generated(load_pair(*folders, device="cpu").target.model)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"return_dict": False}))
    assert generate(load_pair(*folders, device="cpu"), PROMPT, CONFIG) == usual


def test_a_model_that_reads_in_both_directions_is_no_target(folders):
    path = folders[0] / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"is_causal": False}))
    with pytest.raises(CheckpointError, match='"is_causal": false: a model that reads its text in both directions'):
        load_pair(*folders, device="cpu")


def test_a_default_device_of_somebody_elses_changes_nothing(folders):
    pair = load_pair(*folders, device="cpu")
    usual = generated(pair.target.model)
    with torch.device("meta"):  # as torch.set_default_device("cuda") on a machine that has one
        trace = decode(pair, PROMPT, CONFIG)
        checked = check(pair, PROMPT, CONFIG, trace.output.token_ids)
    assert trace.output.token_ids == usual and checked["lossless"]


def test_pytorchs_own_name_of_a_dtype_is_one(folders):
    assert load_pair(*folders, device="cpu", dtype=torch.bfloat16).target.dtype is torch.bfloat16
