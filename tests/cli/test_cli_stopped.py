"""Ctrl-C and readers that go away: whatever happens, the trace so far is written and marked cancelled."""

import os
import signal
import subprocess
import sys

import pytest
from cli import FEW, IDS, PAIR, call, decode
from pair_maker import GOLDEN, make_head, make_target

from core import Trace
from core.cli.main import main
from core.model.target import Target

# -- Ctrl-C in this process, at chosen moments ------------------------------------------------------------------------


def interrupting(function, at):
    """The function, with Ctrl-C pressed at its `at`-th call, before it begins."""
    calls = []

    def wrapped(*args, **kwargs):
        calls.append(1)
        if len(calls) == at:
            signal.raise_signal(signal.SIGINT)
        return function(*args, **kwargs)

    return wrapped


@pytest.mark.parametrize("name", ["run.json", "run.jsonl"])
@pytest.mark.parametrize("at", [1, 3])
def test_ctrl_c_in_a_round_keeps_the_rounds_before(capsys, monkeypatch, tmp_path, name, at):
    monkeypatch.setattr(Target, "verify", interrupting(Target.verify, at))
    code, out, err = call(capsys, "run", *PAIR, *IDS, *FEW, "--check", "--trace", tmp_path / name)
    assert code == 130 and "ended by cancelled" in out and "marked cancelled" in err and "Traceback" not in err
    trace = Trace.load(tmp_path / name)
    assert len(trace.rounds) == at - 1 and trace.output.finish_reason == "cancelled"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("name", ["run.json", "run.jsonl"])
@pytest.mark.parametrize("at", [2, "last"])
def test_ctrl_c_while_a_round_is_written_lets_it_be_written(capsys, monkeypatch, tmp_path, name, at):
    """The last round commits more than the run may emit; a trace that ends with it must not."""
    decode(capsys, *PAIR, *IDS, *FEW, "--trace", tmp_path / "free.json")
    free = Trace.load(tmp_path / "free.json")
    at = len(free.rounds) if at == "last" else at
    assert sum(len(r.committed) for r in free.rounds) > 12
    import core.trace.events
    monkeypatch.setattr(core.trace.events, "round_line", interrupting(core.trace.events.round_line, at))
    assert call(capsys, "run", *PAIR, *IDS, *FEW, "--trace", tmp_path / name)[0] == 130
    trace = Trace.load(tmp_path / name)
    assert len(trace.rounds) == at and trace.output.finish_reason == "cancelled"
    assert trace.output.token_ids == free.output.token_ids[: len(trace.output.token_ids)]


def test_ctrl_c_twice_still_writes_the_trace(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(Target, "verify", interrupting(Target.verify, 2))
    monkeypatch.setattr(Trace, "save", interrupting(Trace.save, 1))
    assert call(capsys, "run", *PAIR, *IDS, *FEW, "--trace", tmp_path / "run.json")[0] == 130
    assert Trace.load(tmp_path / "run.json").output.finish_reason == "cancelled"


@pytest.mark.parametrize("name", ["run.json", "run.jsonl"])
def test_ctrl_c_during_the_check_keeps_the_whole_run(capsys, monkeypatch, tmp_path, name):
    import core.measure.check
    monkeypatch.setattr(core.measure.check, "steps", interrupting(core.measure.check.steps, 1))
    code, out, err = call(capsys, "run", *PAIR, *IDS, *FEW, "--check", "--trace", tmp_path / name)
    trace = Trace.load(tmp_path / name)
    assert code == 130 and "stopped" in err and "lossless: not checked" in out
    assert trace.output.finish_reason == "length" and len(trace.output.token_ids) == 12 and trace.check.lossless is None


def test_ctrl_c_while_loading(capsys, monkeypatch, tmp_path):
    import core.pairs.checkpoint
    monkeypatch.setattr(core.pairs.checkpoint, "load_target", interrupting(core.pairs.checkpoint.load_target, 1))
    code, _, err = call(capsys, "run", *PAIR, *IDS, "--trace", tmp_path / "run.json")
    assert code == 130 and err == "\nstopped\n" and list(tmp_path.iterdir()) == []


# -- two that write the same file -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.json", "run.jsonl", "run.json.gz"])
def test_a_second_run_that_would_write_the_same_trace_is_refused(capsys, monkeypatch, tmp_path, name):
    decode(capsys, *PAIR, *IDS, *FEW, "--trace", tmp_path / "alone.json")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / name)
    same = tmp_path / ("link.jsonl" if name == "run.jsonl" else name)
    second = [sys.executable, "-m", "core", "run", *PAIR, *IDS, *FEW, "--trace", str(same)]
    refusals, verify = [], Target.verify

    def meanwhile(self, *args):
        if not refusals:
            refusals.append(subprocess.run(second, cwd=GOLDEN.parent.parent, capture_output=True, text=True, timeout=150))
        return verify(self, *args)

    monkeypatch.setattr(Target, "verify", meanwhile)
    decode(capsys, *PAIR, *IDS, *FEW, "--trace", tmp_path / name)
    assert refusals[0].returncode == 2 and refusals[0].stdout == "" and refusals[0].stderr == (
        f"error: The trace {same} is being written by another run; give another file, or wait for that run to end.\n")
    assert Trace.load(tmp_path / name).output == Trace.load(tmp_path / "alone.json").output
    monkeypatch.undo()
    decode(capsys, *PAIR, *IDS, *FEW, "--trace", same)  # the place is free again, and nothing is left beside it
    assert {p.name for p in tmp_path.iterdir()} == {name, "alone.json", "link.jsonl"}


# -- the real thing ---------------------------------------------------------------------------------------------------


def test_ctrl_c_to_real_processes_in_a_long_run(capsys, tmp_path):
    """Two at once, a trace of either spelling; each is stopped when its text has begun to come."""
    target = make_target(tmp_path / "target", max_position_embeddings=40_000)
    head = make_head(tmp_path / "head", target)
    flags = ["run", "--target", target, "--draft", head, "--device", "cpu", *IDS, "--top-k", "2", "--depth", "1",
             "--max-new-tokens", "30000", "--check"]
    runs = {}
    for name in ("run.json", "run.jsonl"):
        command = [sys.executable, "-m", "core", *map(str, flags), "--trace", str(tmp_path / name)]
        runs[name] = subprocess.Popen(command, cwd=GOLDEN.parent.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env=os.environ | {"OMP_NUM_THREADS": "1"})
    try:
        for process in runs.values():
            assert process.stdout.read(60).startswith(b"<")
        assert (tmp_path / "run.jsonl").stat().st_size > 1000  # written while the run goes on
        for process in runs.values():
            process.send_signal(signal.SIGINT)
        for name, process in runs.items():
            out, err = process.communicate(timeout=150)
            assert process.returncode == 130
            assert b"ended by cancelled" in out and err == b"stopped; the run so far is marked cancelled\n"
            code, out, _ = call(capsys, "check-trace", tmp_path / name)
            assert code == 0, out
            trace = Trace.load(tmp_path / name)
            assert trace.output.finish_reason == "cancelled" and 10 < len(trace.output.token_ids) < 30_000
            assert trace.output.text.startswith("<")
    finally:
        for process in runs.values():
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()
    # the writer of this one might as well have been killed in the middle of a line
    data = (tmp_path / "run.jsonl").read_bytes()
    (tmp_path / "run.jsonl").write_bytes(data[: int(len(data) * 0.7)])
    assert 0 < len(Trace.load(tmp_path / "run.jsonl").rounds) < len(trace.rounds)


def test_a_refusal_of_the_real_process():
    """As a person meets it: one sentence, exit code 2; and quick, since flags are read before torch is."""
    done = subprocess.run([sys.executable, "-X", "importtime", "-m", "core", "run", "--ids", "5", "--temperature", "nan"],
                          cwd=GOLDEN.parent.parent, capture_output=True, text=True, timeout=150)
    said = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
    assert done.returncode == 2 and done.stdout == "" and said == ["error: temperature is nan; give a finite number."]
    assert " torch\n" not in done.stderr


def test_a_reader_that_goes_away(tmp_path):
    """`python -m core run ... | head -c 1`, in a forked process with a real pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.dup2(writing, 1)
        sys.stdout = open(1, "w", closefd=False)
        code = 99
        try:
            code = main(["run", *PAIR, *IDS, "--max-new-tokens", "300", "--top-k", "1", "--trace", str(tmp_path / "run.json")])
        finally:
            os._exit(code)
    os.close(writing)
    assert os.read(reading, 1) == b"<"
    os.close(reading)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    trace = Trace.load(tmp_path / "run.json")
    assert trace.output.finish_reason == "cancelled" and 0 < len(trace.output.token_ids) < 300
