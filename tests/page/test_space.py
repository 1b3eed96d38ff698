"""Hosted pages: on ZeroGPU a run crosses to a process of its own and back as plain data; elsewhere nothing changes."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from treeviz.page import space
from treeviz.page.choices import request_of

ROOT = Path(__file__).resolve().parents[2]

# What ZeroGPU does with a decorated generator: the request is pickled, a forked process runs it, its parts are pickled.
FAKE_SPACES = '''
import multiprocessing, pickle

def GPU(task, duration):
    def handler(request):
        request = pickle.loads(pickle.dumps(request))
        seconds = duration(request)
        assert isinstance(seconds, int) and 0 < seconds <= 120
        print("asked for a GPU", flush=True)
        ours, theirs = multiprocessing.Pipe()

        def work():
            for part in task(request):
                theirs.send_bytes(pickle.dumps(part))
                if theirs.poll():  # told to stop
                    break
            theirs.send_bytes(b"")

        process = multiprocessing.get_context("fork").Process(target=work, daemon=True)
        process.start()
        try:
            while data := ours.recv_bytes():
                yield pickle.loads(data)
        except GeneratorExit:
            ours.send_bytes(b"stop")
            raise
        finally:
            process.join(60)
            print("gave it back", process.exitcode, flush=True)
    return handler
'''
USE = '''
import threading
from treeviz.page.choices import Source, request_of
from treeviz.story.lines import trace_of
from treeviz.page.live import Engine
engine = Engine(Source("storybook", device="cpu"))
print("loaded before the first request:", engine.loaded("storybook"), flush=True)
ask = lambda prompt, most: request_of("storybook", prompt, False, dict(top_k=3, depth=2, total_tokens=6, max_new_tokens=most))
never = lambda: False
trace = engine.trace(ask("Once upon a time", 8), never)
print("tokens:", trace["summary"]["new_tokens"], flush=True)
stop, last = threading.Event(), ""
for update in engine.run(ask("Once upon a time", 400), stop.is_set):
    last += update.lines
    if last:
        stop.set()
print("ended:", trace_of(last).output.finish_reason, flush=True)
try:
    list(engine.run(ask("", 8), never))
except ValueError as error:
    print("sentence:", error, flush=True)
'''


def test_a_run_on_zerogpu_is_plain_data_both_ways(tmp_path):
    (tmp_path / "spaces.py").write_text(FAKE_SPACES)
    env = os.environ | {"SPACES_ZERO_GPU": "true", "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    run = subprocess.run([sys.executable, "-c", USE], cwd=ROOT, env=env, capture_output=True, text=True, timeout=160)
    told = run.stdout.splitlines()
    assert "loaded before the first request: True" in told, run.stderr
    assert "tokens: 8" in told and "ended: cancelled" in told, run.stderr
    assert "sentence: The prompt is empty; type something to decode." in told
    assert told.count("asked for a GPU") == told.count("gave it back 0") == 3


def test_elsewhere_nothing_changes(monkeypatch):
    monkeypatch.delenv("SPACES_ZERO_GPU", raising=False)
    task = object()
    assert space.on_gpu(task) is task
    assert "spaces" not in sys.modules


@pytest.mark.parametrize("env, host", [({}, "localhost"), ({"SPACE_ID": "a/b"}, "0.0.0.0"),
                                       ({"SPACE_ID": "a/b", "GRADIO_SERVER_NAME": "10.0.0.1"}, "10.0.0.1")])
def test_listens_as_the_platform_says(monkeypatch, env, host):
    for name in ("SPACE_ID", "GRADIO_SERVER_NAME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert space.host() == host


def test_a_longer_run_asks_for_more_seconds_within_reason():
    def ask(**numbers):
        return space.seconds(request_of("storybook", "a", False, numbers))
    assert ask(max_new_tokens=16) < ask(max_new_tokens=64) < ask(max_new_tokens=64, depth=10) <= ask(max_new_tokens=2048) == 120


def test_whose_address_it_is(monkeypatch):
    def asked(forwarded):
        return SimpleNamespace(headers={"x-forwarded-for": forwarded} if forwarded else {}, client=SimpleNamespace(host="10.0.0.9"))
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert space.visitor(asked("1.2.3.4")) == space.visitor(asked("")) == "10.0.0.9", "anybody could write that header"
    monkeypatch.setenv("SPACE_ID", "a/b")
    assert space.visitor(asked("6.6.6.6, 1.2.3.4")) == "1.2.3.4" and space.visitor(asked("")) == "10.0.0.9"


def test_a_measurement_asks_for_the_seconds_that_it_may_take():
    assert space.seconds({"what": "cost", "seconds": 2.5}) == 12 and space.seconds({"what": "sweep", "seconds": 300}) == 120
