"""Memory that runs out is a sentence with the size wanted, and what was decoded before it is kept."""

import os
import subprocess
import sys

import pytest
import torch
from cli import FEW, IDS, PAIR, call, refused
from pair_maker import GOLDEN, make_head, make_target

import core.measure.check
from core import (
    CheckpointError,
    DecodeConfig,
    DecodeError,
    Trace,
    decode,
    generate,
    load_pair,
)
from core.common.memory import enough_memory, of_a_command
from core.errors import UserError
from core.measure import bench
from core.model.target import Target
from core.pairs import checkpoint, head_files
from core.trace import record
from core.trace.record import DecodeInterrupted

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
    passes.clear()
    with pytest.raises(DecodeInterrupted, match=r"\(3 tokens\), or lower max_new_tokens \(30\)\.$"):
        decode(golden_pair, [1, 115, 57], DecodeConfig("plain", max_new_tokens=30))
    assert caught.value.trace.output.finish_reason == "cancelled"


def out_of_memory(function=None, at=1, error=MemoryError):
    """The function, whose `at`-th call finds no memory."""
    calls = []

    def wrapped(*args, **kwargs):
        calls.append(1)
        if len(calls) == at:
            raise error
        return function(*args, **kwargs)

    return wrapped


def test_in_the_recorder(golden_pair, monkeypatch):
    monkeypatch.setattr(record._Recorder, "_verified", out_of_memory(record._Recorder._verified, at=3))
    with pytest.raises(DecodeInterrupted, match="memory of cpu ran out") as caught:
        decode(golden_pair, [1, 115, 57], CONFIG)
    assert len(caught.value.trace.rounds) == 2 and caught.value.trace.output.finish_reason == "cancelled"


@pytest.mark.parametrize("name", ["run.json", "run.jsonl"])
@pytest.mark.parametrize("where, rounds, reason", [("read", 0, "cancelled"), ("verify", 2, "cancelled"), ("check", None, "length")])
def test_the_command_keeps_the_trace(capsys, monkeypatch, tmp_path, name, where, rounds, reason):
    if where == "check":
        monkeypatch.setattr(core.measure.check, "steps", out_of_memory())
    else:
        monkeypatch.setattr(Target, where, out_of_memory(getattr(Target, where), at=1 if where == "read" else 3))
    path = tmp_path / name
    code, _, err = call(capsys, "run", *PAIR, *IDS, *FEW, "--check", "--trace", path)
    assert code == 2 and err.startswith("error: The memory of cpu ran out while ") and err.count("\n") == 1
    trace = Trace.load(path)
    assert trace.output.finish_reason == reason and trace.check.lossless is None
    assert rounds is None or len(trace.rounds) == rounds


@pytest.mark.parametrize("error", [RuntimeError(CPU), MemoryError(), OSError(12, "Cannot allocate memory"),
                                   torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")],
                         ids=["torch", "python", "system", "cuda"])
@pytest.mark.parametrize("where, name", [(checkpoint.LlamaForCausalLM, "from_pretrained"), (head_files, "load_file"),
                                         (checkpoint, "speed_up")], ids=["target", "head", "layout"])
def test_while_a_pair_is_loaded(monkeypatch, where, name, error):
    monkeypatch.setattr(where, name, out_of_memory(error=error))
    with pytest.raises(CheckpointError, match=r"memory of cpu ran out while .* were loaded: .*; close other") as caught:
        load_pair(PAIR[1], PAIR[3], device="cpu")
    assert "copy" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None, "it would keep what the failed work held"


def test_in_any_command(capsys, monkeypatch):
    monkeypatch.setattr(bench, "read_prompts", out_of_memory(error=ImportError("libx.so: failed to map segment from shared object")))
    refused(capsys, ["bench", *PAIR], "The memory ran out; close other programs")


def test_a_sentence_of_ours_stays_what_it_is():
    with pytest.raises(DecodeError, match=r"^The disk is out of memory[.]$"), enough_memory(of_a_command):
        raise DecodeError("The disk is out of memory.")
    with pytest.raises(UserError, match=r"ran out [(]210 MB more were wanted[)]; close"), enough_memory(of_a_command):
        raise MemoryError("Unable to allocate 200. MiB for an array with shape (1,)")


# -- the real thing ---------------------------------------------------------------------------------------------------

LIMITED = """
import resource, sys
import core.measure.check, core.pairs.checkpoint, core.pairs.chat, core.trace.record, core.cli.run, core.model.steps, torch
from core.cli.main import main
torch.set_num_threads(1)
used = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmSize:"))
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="a limit on memory is set here as on Linux")
@pytest.mark.parametrize("what", ["the prompt is read", "the pair is loaded"])
def test_a_process_that_may_have_no_more(tmp_path, what):
    """A cache of 768 MB, or a target of 41 MB, where there is room for neither."""
    loading = what == "the pair is loaded"
    shape = {"vocab_size": 20_000, "hidden_size": 256} if loading else {"max_position_embeddings": 4_000_000}
    folder = make_target(tmp_path / "target", **shape)
    pair = ["--target", folder, "--draft", make_head(tmp_path / "head", folder), "--device", "cpu"]
    flags = ["run", *pair, *IDS, "--max-new-tokens", "2000000", "--trace", tmp_path / "run.json"]
    done = subprocess.run([sys.executable, "-c", LIMITED, str((20 if loading else 400) << 20), *map(str, flags)],
                          cwd=GOLDEN.parent.parent, capture_output=True, text=True, timeout=150)
    assert done.returncode == 2 and done.stderr.startswith("error: The memory of cpu ran out while ")
    assert done.stderr.count("\n") == 1 and done.stderr.endswith(".\n")
    if loading:
        assert "; close other programs" in done.stderr and not (tmp_path / "run.json").exists()
    else:
        assert "768 MB more were wanted; shorten the prompt (4 tokens), or lower max_new_tokens (2,000,000)" in done.stderr
        trace = Trace.load(tmp_path / "run.json")
        assert not trace.rounds and trace.output.finish_reason == "cancelled"


def test_another_error_is_not_taken_for_it(golden_pair, monkeypatch):
    def broken(*_):
        raise RuntimeError("size mismatch")

    monkeypatch.setattr(type(golden_pair.target), "verify", broken)
    with pytest.raises(RuntimeError, match="size mismatch") as caught:
        generate(golden_pair, [1, 115, 57], CONFIG)
    assert not isinstance(caught.value, DecodeError)
