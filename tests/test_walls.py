"""The three walls of the design: who may import what."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

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
