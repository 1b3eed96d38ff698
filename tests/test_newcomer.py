"""Mistakes that a newcomer makes: each is answered with one sentence that says what to do, and nothing is lost."""

import ast
import gzip
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from cli import call, refused
from unprivileged import somebody_else

import app
from core import Trace

ROOT = Path(__file__).resolve().parents[1]
STORYBOOK = ["--pair", "storybook", "--device", "cpu"]


def python(*args, **how):
    """Python itself, as a person starts it."""
    how = {"cwd": ROOT, "env": os.environ | {"OMP_NUM_THREADS": "1"}} | how
    return subprocess.run([sys.executable, *map(str, args)], capture_output=True, text=True, timeout=200, **how)


def one_sentence(done, *words, code=2):
    assert done.returncode == code and done.stdout == "", (done.stdout, done.stderr)
    assert done.stderr.count("\n") == 1 and "Traceback" not in done.stderr, done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


# -- the wrong Python, the wrong folder -------------------------------------------------------------------------------

STARTED_FIRST = ["app.py", "core/__init__.py", "core/cli/main.py"]


@pytest.mark.parametrize("name", STARTED_FIRST)
def test_what_is_started_first_parses_on_old_pythons(name):
    ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 7))


@pytest.mark.parametrize("start", ["runpy.run_path('app.py', run_name='__main__')",
                                   "runpy.run_module('core', run_name='__main__', alter_sys=True)"])
def test_an_old_python_is_told_which_one_is_needed(start):
    old = f"import runpy, sys; sys.version_info = (3, 9, 18, 'final', 0); sys.argv = ['app.py']; {start}"
    one_sentence(python("-c", old), "needs Python 3.11", "this is 3.9", "python3.11 -m venv")


@pytest.mark.parametrize("version", ["3.9", "3.10"])
def test_a_real_old_python(version):
    found = shutil.which(f"python{version}")
    if not found or subprocess.run([found, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"no Python {version} on this machine")
    for args in (["app.py"], ["-m", "core", "pairs"]):
        done = subprocess.run([found, *args], cwd=ROOT, capture_output=True, text=True, timeout=60)
        one_sentence(done, f"needs Python 3.11 or newer and this is {version}")


@pytest.mark.parametrize("args, package", [(["-m", "core", "pairs"], "pydantic"), (["-m", "core", "pairs"], "filelock"),
                                           (["app.py"], "pydantic"), (["app.py"], "filelock"), (["app.py"], "gradio")])
def test_a_package_that_is_not_installed(tmp_path, args, package):
    """As with the system's Python instead of the virtual environment's."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{package!r}] = None\n")  # import's own "is not there"
    done = python(*args, env=os.environ | {"PYTHONPATH": str(tmp_path)})
    one_sentence(done, "not installed", "pip install -r requirements.txt")


def test_another_working_directory(tmp_path):
    one_sentence(python(ROOT / "core", "pairs", cwd=tmp_path), "python -m core", "repository's root", code=1)
    shown = python(ROOT / "app.py", "--help", cwd=tmp_path)
    assert shown.returncode == 0 and "--trace" in shown.stdout


def test_ctrl_c_while_modules_load():
    """The program ends by the signal, without a word."""
    code = ("import os, signal, runpy, sys, builtins\nreal = builtins.__import__\n"
            "def load(name, *rest, **more):\n    if name == 'pydantic':\n        os.kill(os.getpid(), signal.SIGINT)\n"
            "    return real(name, *rest, **more)\n"
            "builtins.__import__ = load\nsys.argv = ['core', 'pairs']\n"
            "runpy.run_module('core', run_name='__main__', alter_sys=True)")
    done = python("-c", code)
    assert done.returncode == -2 and done.stderr == "", done.stderr


# -- prompts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", ["Жила-была лиса", "从前有一只狐狸", "昔々あるところに", "كان يا ما كان", "🦊🌳 👩‍👩‍👧"])
def test_a_prompt_in_another_language_works(capsys, tmp_path, prompt):
    flags = [*STORYBOOK, "--max-new-tokens", "4", "--quiet", "--trace", tmp_path / "run.json"]
    code, _, err = call(capsys, "run", *flags, "--prompt", prompt)
    assert code == 0, err
    trace = Trace.load(tmp_path / "run.json")
    assert trace.prompt.text == prompt
    parts = [trace.token(i) for i in trace.prompt.token_ids]
    assert any(part.bytes for part in parts), "characters split over tokens are shown as their bytes"
    assert b"".join(bytes.fromhex(p.bytes) if p.bytes else p.text.encode() for p in parts).decode() == prompt


def test_a_prompt_of_20_000_characters_says_the_limit(capsys):
    code, _, err = call(capsys, "run", *STORYBOOK, "--prompt", "Once upon a time, " * 1112)
    assert code == 2 and "the context of storybook is 1024" in err and "shorten the prompt to 1017 tokens" in err
    code, _, err = call(capsys, "run", *STORYBOOK, "--prompt", "Once upon a time, " * 5000)
    assert code == 2 and "has 25,001 tokens, but the context of storybook is 1024" in err, err


# -- traces from elsewhere --------------------------------------------------------------------------------------------


def packed_folder():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        tar.add(__file__, "test.py")
    return packed.getvalue()


FOREIGN = {
    "a chrome trace": (json.dumps({"traceEvents": [{"ph": "X", "ts": 1}]}).encode(), '"format" should be "eagle2-trace"'),
    "a list of events": (b'[{"name": "x"}]', '"format" should be'),
    "a list of prompts": (b'{"turns": ["x"]}\n{"turns": ["y"]}\n', "not an EAGLE-2 trace"),
    "a page": (b"<!doctype html><title>Not found</title>", "not JSON (line 1, column 1"),
    "a picture, packed": (gzip.compress(b"\x89PNG\r\n\x1a\n" + bytes(range(256))), "not UTF-8"),
    "a folder, packed": (packed_folder(), "not JSON"),
    "deeply nested": (b'{"a":' * 200_000, "nested too deeply"),
    "a later version": (b'{"format": "eagle2-trace", "schema_version": 3}', "schema_version is 3, this program reads versions 1 to 2"),
    "a first line only": (b'{"format": "eagle2-trace", "schema_version": 1}', "its first line has no created"),
    "empty": (b"", "not JSON"),
}


@pytest.mark.parametrize("content, words", FOREIGN.values(), ids=FOREIGN)
def test_a_trace_from_elsewhere(capsys, monkeypatch, tmp_path, content, words):
    path = tmp_path / "theirs.json"
    path.write_bytes(content)
    code, out, err = call(capsys, "check-trace", path)
    assert code == 1 and words in out and out.count("\n") == 1 and err == ""
    refused(capsys, ["show", path], words)
    monkeypatch.setattr(sys, "argv", ["app.py", "--trace", str(path)])
    assert app.main() == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
    assert path.read_bytes() == content


# -- the machine ------------------------------------------------------------------------------------------------------


def test_a_cache_that_may_not_be_written(capsys, monkeypatch, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir()
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    locked.chmod(0o555)
    monkeypatch.setenv("TREEVIZ_CACHE", str(locked))
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("core.pairs.smollm2._hub_snapshot", lambda local_only: None)
    with somebody_else():
        code, _, err = call(capsys, "run", "--pair", "smollm2-135m", "--device", "cpu", "--prompt", "x")
    assert code == 2 and f"{locked} cannot be written; set TREEVIZ_CACHE to a folder of yours" in err


def test_a_port_in_use(capsys, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        monkeypatch.setattr(sys, "argv", ["app.py", "--demo", "--host", "127.0.0.1", "--port", port])
        assert app.main() == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"127.0.0.1:{port} cannot be listened on, it may be taken; give another --port or --host.")


@pytest.mark.parametrize("argv, words", [
    (["--pair", "gpt2"], 'no pair "gpt2"'), (["--trace", "/no/such.json"], "No such file"),
    (["--demo", "--host", "nowhere.invalid"], "nowhere.invalid:7860-7959 cannot be listened on"),
    (["--target", "x"], "go together"), (["--port", "99999"], "from 1 to 65535"), (["--port", "x"], "invalid int value: 'x'"),
    (["--no\x1b[31m"], "unrecognized"),
])
def test_flags_of_the_app_that_cannot_be(capsys, monkeypatch, argv, words):
    monkeypatch.setattr(sys, "argv", ["app.py", *argv])
    try:
        code = app.main()
    except SystemExit as stopped:
        code = stopped.code
    said = capsys.readouterr().err
    assert code == 2 and words in said and said.count("\n") == 1 and "\x1b" not in said
