"""What every test starts from: no hub, one thread, and a few pairs loaded once."""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # no test asks the hub

import pytest
import torch
from eagle3_maker import WEIGHTS
from pair_maker import GOLDEN, make_head, make_target

from core import load_pair

torch.set_num_threads(1)  # on models this small a second thread only waits for the first


@pytest.fixture(scope="session")
def golden_pair():
    return load_pair(GOLDEN / "weights/target", GOLDEN / "weights/head_bias", device="cpu")


@pytest.fixture(scope="session")
def eagle3_pair():
    """A target with its EAGLE-3 head, which drafts among 200 of its 500 tokens."""
    return load_pair(WEIGHTS / "target_a", WEIGHTS / "head3_reduced", device="cpu")


@pytest.fixture(scope="session")
def weak_pair():
    """The golden target with a head that was never trained: almost nothing is accepted."""
    return load_pair(GOLDEN / "weights/target", GOLDEN / "weights/head_random", device="cpu")


@pytest.fixture(scope="session")
def random_pair(tmp_path_factory):
    """A random target and a random head: grouped heads, untied."""
    folder = tmp_path_factory.mktemp("random")
    target = make_target(folder / "target")
    return load_pair(target, make_head(folder / "head", target), device="cpu")
