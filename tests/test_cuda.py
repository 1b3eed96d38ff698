"""The same decoder on a GPU. Skipped where there is none; run it on any machine that has one."""

import pytest
import torch
from pair_maker import GOLDEN, make_head, make_target

from core import DecodeConfig, decode, generate, load_pair
from core.decoder import rounds
from core.measure.check import check

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

SETTINGS = DecodeConfig(top_k=10, depth=5, total_tokens=59, max_new_tokens=64)
PROMPT = [1, 115, 57, 198, 43, 106]


@pytest.fixture(scope="module")
def cuda_pair():
    return load_pair(GOLDEN / "weights/target", GOLDEN / "weights/head_bias", device="cuda", dtype="float32")


def test_float32_is_lossless_and_equal_to_the_cpu(cuda_pair, golden_pair):
    torch.backends.cuda.matmul.allow_tf32 = False
    trace = decode(cuda_pair, PROMPT, SETTINGS)
    assert check(cuda_pair, PROMPT, SETTINGS, trace.output.token_ids)["lossless"]
    assert trace.output.token_ids == generate(golden_pair, PROMPT, SETTINGS)


def test_sampling_draws_the_same_on_every_device(cuda_pair, golden_pair):
    config = DecodeConfig(**{**SETTINGS.to_dict(), "temperature": 0.8, "seed": 3, "max_new_tokens": 16})
    assert generate(cuda_pair, PROMPT, config) == generate(golden_pair, PROMPT, config)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_runs_and_explains_itself(dtype):
    pair = load_pair(GOLDEN / "weights/target", GOLDEN / "weights/head_bias", device="cuda", dtype=dtype)
    trace = decode(pair, PROMPT, SETTINGS)
    verdict = check(pair, PROMPT, SETTINGS, trace.output.token_ids)
    assert verdict["lossless"] or "near-tie" in verdict["note"]


def test_auto_takes_the_gpu_in_bfloat16():
    pair = load_pair(GOLDEN / "weights/target", GOLDEN / "weights/head_bias")
    assert pair.target.device.type == "cuda"
    assert pair.target.dtype is (torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16)


def test_device_map_spreads_the_target(tmp_path):
    target = make_target(tmp_path / "target", num_hidden_layers=4)
    pair = load_pair(target, make_head(tmp_path / "head", target), dtype="float32", device_map="auto")
    config = DecodeConfig(top_k=4, depth=2, total_tokens=12, max_new_tokens=24)
    assert check(pair, [3, 4, 5], config, generate(pair, [3, 4, 5], config))["lossless"]


def test_a_handful_of_syncs_a_round(cuda_pair):
    """Every place where the CPU waits for the GPU, counted over one warm round."""
    stages = rounds(cuda_pair, PROMPT, SETTINGS)
    seen, waits = 0, []
    torch.cuda.set_sync_debug_mode("default")
    for stage in stages:
        name = type(stage).__name__
        if name == "Started":
            seen += 1
            if seen == 2:
                import warnings
                catcher = warnings.catch_warnings(record=True)
                waits = catcher.__enter__()
                warnings.simplefilter("always")
                torch.cuda.set_sync_debug_mode("warn")
        elif name == "Committed" and seen == 2:
            torch.cuda.set_sync_debug_mode("default")
            catcher.__exit__(None, None, None)
            break
    assert len(waits) <= 8, [str(w.message) for w in waits]
