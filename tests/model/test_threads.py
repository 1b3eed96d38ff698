"""A small model decodes on one thread unless told otherwise, and PyTorch is left as it was."""

import pytest
import torch

from core.config import DecodeConfig
from core.decoder import rounds
from core.errors import UserError
from core.model import threads

CONFIG = DecodeConfig(top_k=2, depth=1, total_tokens=3, max_new_tokens=4)


@pytest.mark.parametrize("chosen, environment, small, used", [
    (None, None, True, 1), (None, None, False, 2), (None, "2", True, 2), (3, None, True, 3), (3, "2", False, 3)])
def test_what_a_run_uses(golden_pair, monkeypatch, chosen, environment, small, used):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if environment:
        monkeypatch.setenv("OMP_NUM_THREADS", environment)
    monkeypatch.setattr(threads, "SMALL", 10**9 if small else 0)
    monkeypatch.setattr(threads, "_chosen", None)
    threads.choose(chosen)
    seen = []
    handle = golden_pair.target.model.model.register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for _ in rounds(golden_pair, [1, 115, 57], CONFIG):
            assert torch.get_num_threads() == 2, "the listener's own"
        assert set(seen) == {used}
    finally:
        torch.set_num_threads(before)
        handle.remove()


@pytest.mark.parametrize("count", [0, -1, 10**9])
def test_a_number_that_is_none_is_refused(count):
    with pytest.raises(UserError, match=f"--threads is {count}; give"):
        threads.choose(count)
