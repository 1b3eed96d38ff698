"""What the browser side promises: a constant template, text only through textContent, nothing from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "assets").glob("view*.js"))


def test_templates_are_constant():
    for name in ("view.html", "view.css", "message.css"):
        text = (ROOT / "assets" / name).read_text()
        assert not any(sign in text for sign in ("${", "{{", "\\", "`")), name


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_scripts_write_text_only_as_text(path):
    text = path.read_text()
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch(",
                 "XMLHttpRequest", "localStorage", "import("):
        assert word not in text, f"{path.name} uses {word}"
    assert set(re.findall(r"https?://[^'\"]+", text)) <= {"http://www.w3.org/2000/svg"}


def test_every_script_is_loaded_and_every_word_is_in_both_languages():
    from treeviz.view import SCRIPTS as loaded
    assert sorted(loaded) == [path.name for path in SCRIPTS]
    words = (ROOT / "assets" / "view-words.js").read_text()
    english, chinese = words.split("\n  zh: {")
    keys = [re.findall(r"(?<![\w'])(\w+): (?=['`{(\[]|\w+ =>)", part) for part in (english.split("en: {")[1], chinese)]
    assert sorted(keys[0]) == sorted(keys[1])


def test_the_view_takes_lines_and_gives_a_component():
    from tests.trace_maker import make_trace
    from treeviz.lines import page_lines
    from treeviz.view import trace_view
    lines = page_lines(make_trace(rounds=1))
    assert trace_view(lines).value == lines
    assert not list((ROOT / "treeviz").glob("*.pyi")), "gradio wrote stub files"


def test_app_refuses_in_one_sentence(tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("[]")
    for flags in (["--trace", str(bad)], ["--trace", str(tmp_path / "none.json")], ["--target", "x"]):
        run = subprocess.run([sys.executable, "app.py", *flags], cwd=ROOT, capture_output=True, text=True)
        assert run.returncode == 2 and "Traceback" not in run.stderr and run.stderr.strip()
