"""What a person reads is in `assets/words/`, and nowhere else: code holds no sentences, names no language but English,
and asks for every text that is there."""

import ast
import re
from pathlib import Path

import pytest

from core.policies import SHIPPED
from treeviz.story.language import section

ROOT = Path(__file__).resolve().parents[1]
PYTHON = [*sorted((ROOT / "treeviz").rglob("*.py")), ROOT / "app.py"]
SCRIPTS = sorted((ROOT / "assets" / "view").rglob("*.js"))
CHINESE = re.compile("[\u4e00-\u9fff]")
WORDS = re.compile(r"[A-Za-z]{2,}[,.;:’'”)]* [a-z]{2,}")  # two words of a text, the second no name
# What is said in a terminal, before there is a page: to whoever starts the program, in English as all commands do.
TERMINAL = {"app.py", "machine.py", "scratch.py", "language.py", "door.py guests", "door.py _tell"}
# What a caller in a notebook hears as a ValueError, prompts to try (for models that read English), plotly's own words.
OTHERS = {"figures.py _frame", "__init__.py __getattr__", "choices.py QUESTIONS", "choices.py BEGINNINGS",
          "figures.py _figure", "figures.py tree_figure 'top left'", "figures.py tree_figure 'top right'"}


def sentences(code: str, file: str) -> list[str]:
    """'FILE FUNCTION TEXT' of the texts in Python code that hold a few words, but for docstrings and what is code."""
    found = []

    def look(node, inside):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = node.name if inside == "" or isinstance(node, ast.ClassDef) else inside
        elif isinstance(node, ast.Assign) and inside == "" and isinstance(node.targets[0], ast.Name):
            inside = node.targets[0].id
        body = getattr(node, "body", None)
        docs = body[0] if isinstance(body, list) and body and isinstance(body[0], ast.Expr) else None
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and WORDS.search(node.value):
            if not re.search(r"[{}=<>|\\]|\.\w+\(", node.value):  # a script, a style, a pattern
                found.append(f"{file} {inside} {node.value!r}")
        for child in ast.iter_child_nodes(node):
            if child is not docs:
                look(child, "" if isinstance(node, ast.ClassDef) else inside)

    look(ast.parse(code), "")
    return found


def in_scripts(code: str) -> list[str]:
    """Texts in JavaScript that begin like a sentence; names of classes and parts are in small letters."""
    code = re.sub(r"(?m)(^|\s)//.*$", "", code)
    texts = re.findall(r"""['"`]((?:[^'"`\n\\]|\\.)*)['"`]""", code)
    return [text for text in texts if re.search(r"[A-Z][a-z]+,? [a-z]", text)]


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.name)
def test_python_holds_no_sentences(path):
    allowed = tuple(f"{place} " for place in TERMINAL | OTHERS)
    found = sentences(path.read_text(encoding="utf-8"), path.name)
    assert [text for text in found if not f"{text} ".startswith(allowed)] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_javascript_holds_no_sentences(path):
    assert in_scripts(path.read_text(encoding="utf-8")) == []


def test_what_is_allowed_is_there():
    found = [text + " " for path in PYTHON for text in sentences(path.read_text(encoding="utf-8"), path.name)]
    for place in TERMINAL | OTHERS:
        assert any(text.startswith(place + " ") for text in found), place


def test_a_sentence_is_found():
    python = ('class A:\n    def f(self):\n        """A doc string of it."""\n'
              '        gr.Button("Decode the prompt"); x = f"at {n} of them"; y = "k-v", "a b"')
    assert sentences(python, "x.py") == ["x.py f 'Decode the prompt'", "x.py f ' of them'"]
    script = "// 'A comment of it'\nmake('p', 'tv-card tv-text', 'The first round'); t = `Round of ${n}`; on('Escape');"
    assert in_scripts(script) == ["The first round", "Round of ${n}"]


@pytest.mark.parametrize("path", [*PYTHON, *SCRIPTS], ids=lambda path: path.name)
def test_no_file_of_code_knows_another_language(path):
    text = path.read_text(encoding="utf-8")
    assert not CHINESE.search(text)
    assert not re.search(r"""\blang(uage)?\b[^;\n]{0,20}['"](?!en['"])[a-z]{2}['"]|['"]en['"], ?['"]""", text)


# -- and every text is asked for ---------------------------------------------------------------------------------------


def bare(key):
    return key.partition("@")[0].removesuffix(".one")


def test_every_text_of_page_and_story_is_used():
    code = "".join(path.read_text(encoding="utf-8") for path in PYTHON)
    ends = {*SHIPPED, *section("view")["state"], *re.findall(r'"([\w.]+)"', code)}
    for name in ("page", "story"):
        for key in section(name):
            asked = {bare(key), key.partition("@")[0]}
            parts = [name.partition(".") for name in asked]
            together = any(f'f"{start}.{{' in code and end in ends for start, _, end in parts)
            assert together or any(f'"{name}"' in code for name in asked), key


def test_every_text_of_the_view_is_used():
    code = "".join(path.read_text(encoding="utf-8") for path in SCRIPTS)
    for key, text in section("view").items():
        if not isinstance(text, dict):
            assert f"'{bare(key)}'" in code or re.search(rf"\b{bare(key)}: (button|\(\) =>)", code) or (
                key.endswith("Hint") and f"'{key[:-4]}'" in code), key
        elif not re.search(rf"[`']{key}\.(\$\{{(?!key)|')", code):  # of some groups the name is put together
            for part in text:
                assert f"'{key}.{bare(part)}'" in code or f"'{bare(part)}'" in code, f"{key}.{part}"
