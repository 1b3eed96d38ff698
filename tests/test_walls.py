"""The walls of the house: who may import what, and that imports run one way."""

import ast
import itertools
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
    "import treeviz.story.frames, treeviz.story.narrate, treeviz.story.layout, treeviz.figures",
])
def test_traces_open_without_torch(statement):
    assert not loaded_by(statement) & {"torch", "transformers", "safetensors"}


def test_only_the_page_knows_gradio():
    for path in [*files("treeviz"), ROOT / "app.py"]:
        tops = {name.split(".")[0] for name in imports(path)}
        allowed = path.parent.name == "page" or path.name in ("view.py", "app.py")
        assert allowed or "gradio" not in tops, f"{path.name} imports gradio"


def test_only_the_view_knows_the_browser():
    for path in [*files("treeviz"), *files("core"), ROOT / "app.py"]:
        if path.name != "view.py":
            text = path.read_text(encoding="utf-8")
            assert "js_on_load" not in text and "html_template" not in text, f"{path.name} knows of the browser side"


@pytest.mark.parametrize("top", rooms.ORDER)
def test_imports_run_one_way(top):
    assert not rooms.climbing(top)


@pytest.mark.parametrize(("where", "line", "names"), [
    ("core/tree.py", "from .decoder import rounds", ["core/tree.py", "core.decoder"]),
    ("core/policies/eagle2.py", "def grow():\n    from ..config import DecodeConfig", ["core/policies/eagle2.py", "core.config"]),
    ("core/common/ink.py", "from core.cli import main", ["core/common/ink.py", "core.cli"]),
    ("core/common/ink.py", "import core.trace", ["core/common/ink.py", "core.trace"]),
    ("core/model/pair.py", "import importlib\nimportlib.import_module('core.pairs.hub')", ["core/model/pair.py", "core.pairs.hub"]),
    ("treeviz/story/lines.py", "from .. import view", ["treeviz/story/lines.py", "treeviz.view"]),
])
def test_an_import_that_climbs_is_found(where, line, names, tmp_path):
    path = tmp_path / where
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n")
    found = rooms.climbing(where.split("/")[0], tmp_path)
    assert found and all(name in found[0] for name in names)


def test_every_file_has_a_room_and_says_what_it_is():
    for top, order in rooms.ORDER.items():
        for path in files(top):
            first = path.relative_to(ROOT / top).parts[0].removesuffix(".py")
            assert first in order or first == "__init__", f"{path} is in no room"
            assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{path} does not say what it is"
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
