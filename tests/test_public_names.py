"""The names that other people's code holds on to. Where one moves, it must still be found here."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import core
import treeviz
from core.cli.main import parser

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", ["DecodeConfig", "TraceBuilder", "decode", "generate", "load_named", "load_pair", "stream"])
def test_a_name_of_core(name):
    assert callable(getattr(core, name)) and name in core.__all__


@pytest.mark.parametrize("name", ["Trace", "TraceError", "fold", "CheckpointError", "DecodeError", "DecodeInterrupted"])
def test_a_further_name_of_core(name):
    assert getattr(core, name).__name__ == name and name in core.__all__


@pytest.mark.parametrize(("module", "name"), [
    ("core.trace", "Trace"), ("core.config", "DecodeConfig"), ("core.verify", "Chance"), ("core.tree", "flatten"),
])
def test_a_name_of_a_module(module, name):
    found = getattr(importlib.import_module(module), name)
    assert callable(found) and found.__name__ == name


def test_every_name_on_the_door_is_there():
    for package in (core, treeviz):
        for name in package.__all__:
            assert getattr(package, name) is not None
        with pytest.raises(AttributeError, match="has no attribute 'tree_viz'"):
            package.tree_viz  # noqa: B018


def test_a_name_of_the_door_and_of_its_module_are_one():
    from core.config import DecodeConfig
    from core.trace import Trace
    assert core.DecodeConfig is DecodeConfig and core.Trace is Trace


def test_the_commands():
    (commands,) = [action.choices for action in parser()._actions if action.choices]
    assert {"run", "show", "check-trace", "bench", "pairs", "train", "record"} <= set(commands), "what is there stays"


@pytest.mark.parametrize("module", ["core", "core.storybook"])
def test_a_module_that_is_run(module):
    run = subprocess.run([sys.executable, "-m", module, "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("usage: ")
