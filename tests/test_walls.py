"""The walls of the house: who may import what, and that imports run one way."""

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import rooms

ROOT = Path(__file__).parent.parent


def imports(path):
    """Top-level names a file imports anywhere in it, relative imports as their package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def files(folder):
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found
    return found


@pytest.mark.parametrize("path", files("core"), ids=lambda p: p.name)
def test_core_knows_no_pages(path):
    tops = {name.split(".")[0] for name in imports(path)}
    assert not tops & {"treeviz", "gradio", "plotly", "networkx", "app"}


def loaded_by(statement):
    """Modules in a fresh interpreter after `statement`."""
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in run.stdout.split()}


@pytest.mark.parametrize("statement", [
    "import core.trace", "import core.config", "import core.trace.events", "import core.trace.show", "import core.pairs.named",
    "import core.trace; core.trace.Trace.load(next(iter(__import__('pathlib').Path('assets/traces').glob('*.gz'))))",
    "import core.measure.whatif, core.measure.lost, core.measure.calibration, core.measure.shapes",
    "import core.measure.cost",
    "import treeviz.story.frames, treeviz.story.narrate, treeviz.story.layout, treeviz.figures",
])
def test_traces_open_without_torch(statement):
    assert not loaded_by(statement) & {"torch", "transformers", "safetensors"}


@pytest.mark.parametrize(("package", "knowing"), [
    ("gradio", {"page", "view"}), ("plotly", {"figures"}), ("networkx", {"graph"}),
])
def test_each_package_is_known_where_it_is_used(package, knowing):
    """Frames, sentences and places of nodes know none of them."""
    found = {path.relative_to(ROOT / "treeviz").parts[0].removesuffix(".py") for path in files("treeviz")
             if package in {name.split(".")[0] for name in imports(path)}}
    assert found == knowing


def test_only_the_view_knows_the_browser():
    for path in [*files("treeviz"), *files("core"), ROOT / "app.py"]:
        if path.name != "view.py":
            text = path.read_text(encoding="utf-8")
            assert "js_on_load" not in text and "html_template" not in text, f"{path.name} knows of the browser side"


@pytest.mark.parametrize("top", rooms.ORDER)
def test_imports_run_one_way(top):
    assert not rooms.climbing(top)


@pytest.mark.parametrize(("where", "line", "there"), [
    ("core/tree.py", "from .decoder import rounds", "core/decoder.py"),
    ("core/tree.py", "from . import decoder", "core/decoder.py"),
    ("core/tree.py", "from core import decode", "core/trace/record.py"),
    ("core/policies/eagle2.py", "def grow():\n    from ..config import DecodeConfig", "core/config.py"),
    ("core/common/ink.py", "from core.cli import main", "core/cli/main.py"),
    ("core/common/ink.py", "import core.trace", "core/trace/__init__.py"),
    ("core/model/pair.py", "import importlib\nimportlib.import_module('core.pairs.hub')", "core/pairs/hub.py"),
    ("core/model/pair.py", "from importlib import import_module\nimport_module('..pairs.hub', 'core.model')",
     "core/pairs/hub.py"),
    ("treeviz/story/lines.py", "from .. import view", "treeviz/view.py"),
    ("treeviz/figures.py", "from .view import trace_view", "treeviz/view.py"),
])
def test_an_import_that_climbs_is_found(where, line, there, tmp_path):
    """In a house made up for it: every file empty but the one that climbs."""
    for path in [*files("core"), *files("treeviz")]:
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text(encoding="utf-8") if path.parent.parent == ROOT and path.name == "__init__.py" else "")
    top = where.split("/")[0]
    assert rooms.climbing(top, tmp_path) == []
    (tmp_path / where).write_text(line + "\n")
    (found,) = rooms.climbing(top, tmp_path)
    assert found.startswith(f"{where} imports {there},")


def test_every_file_has_a_room_and_says_what_it_is():
    for top in rooms.ORDER:
        for path in files(top):
            first = path.relative_to(ROOT / top).parts[0].removesuffix(".py")
            assert first in rooms.RANK[top] or first == "__init__", f"{path} is in no room"
            told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
            assert told, f"{path} does not say what it is"
            if path.name == "__init__.py" and path.parent.parent.parent == ROOT:
                assert re.search(r"\b(no|nothing)\b", told), f"{path} does not say what its room does not know"
    assert len(list((ROOT / "core").glob("*.py"))) <= 10


def test_the_picture_in_the_readme_is_that_of_the_imports():
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("```mermaid\n")[2].partition("```")[0]
    drawn = set()
    for line in text.splitlines()[1:]:
        groups = [group.split(" & ") for group in line.strip().split(" --> ")]
        drawn |= {(a, b) for left, right in itertools.pairwise(groups) for a in left for b in right}
    assert drawn == rooms.reduced("core") | rooms.reduced("treeviz")


def test_files_are_read_in_one_go():
    """About 300 lines, tests and styles included; what a browser shows stays within 120 characters."""
    ours = [path for top in ("core", "treeviz", "tests", "assets") for path in (ROOT / top).rglob("*")
            if path.suffix in (".py", ".js", ".mjs", ".css")]
    assert len(ours) > 150
    assert {f"{path.relative_to(ROOT)}": length for path in [*ours, ROOT / "app.py"]
            if (length := len(path.read_text(encoding="utf-8").splitlines())) > 305} == {}
    for path in ours:
        if path.suffix != ".py":
            longest = max(path.read_text(encoding="utf-8").splitlines(), key=len)
            assert len(longest) <= 120, f"{path.name}: {longest}"


def test_no_two_files_of_tests_share_a_name():
    """pytest takes them for one."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names)), [name for name in names if names.count(name) > 1]
