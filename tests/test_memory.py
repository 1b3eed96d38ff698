"""Memory that runs out is a sentence with the size wanted, and what was decoded before it is kept."""

import pytest
import torch

from core import DecodeConfig, DecodeError, decode, generate
from core.record import DecodeInterrupted

CPU = ("[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
       "3600000000 bytes. Error code 12 (Cannot allocate memory)")
CONFIG = DecodeConfig(top_k=4, depth=2, total_tokens=12, max_new_tokens=30)


@pytest.mark.parametrize("error, size", [
    (RuntimeError(CPU), "3.6 GB more were wanted"),
    (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 20000000 bytes."), "20 MB more were wanted"),
    (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8 GiB"),
     "2.1 GB more were wanted"),
    (MemoryError(), "the keys and values of 33 tokens alone take 0.1 MB"),
], ids=["linux", "windows", "cuda", "python"])
def test_memory_that_runs_out_is_a_sentence(golden_pair, monkeypatch, error, size):
    verify, passes = type(golden_pair.target).verify, []

    def full(self, tree, cache):
        passes.append(1)
        if len(passes) > 2:
            raise error
        return verify(self, tree, cache)

    monkeypatch.setattr(type(golden_pair.target), "verify", full)
    with pytest.raises(DecodeInterrupted) as caught:
        decode(golden_pair, [1, 115, 57], CONFIG)
    sentence = str(caught.value)
    assert size in sentence and "shorten the prompt (3 tokens)" in sentence and "total_tokens (12)" in sentence, sentence
    assert "\n" not in sentence and len(caught.value.trace.rounds) == 2
    assert caught.value.trace.output.finish_reason == "cancelled"


def test_another_error_is_not_taken_for_it(golden_pair, monkeypatch):
    def broken(*_):
        raise RuntimeError("size mismatch")

    monkeypatch.setattr(type(golden_pair.target), "verify", broken)
    with pytest.raises(RuntimeError, match="size mismatch") as caught:
        generate(golden_pair, [1, 115, 57], CONFIG)
    assert not isinstance(caught.value, DecodeError)
