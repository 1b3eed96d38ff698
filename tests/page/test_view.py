"""What the browser side promises: a constant template, text only through textContent, nothing from elsewhere."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from treeviz.view import STYLES as NAMED
from treeviz.view import pack

ROOT = Path(__file__).resolve().parents[2]
VIEW, PAGE = ROOT / "assets" / "view", ROOT / "assets" / "page"
SCRIPTS = sorted(VIEW.rglob("*.js"))
STYLES = sorted(VIEW.rglob("*.css"))
# Who may use what of the browser beside elements: by word, the modules, or the folder, that do.
GLOBAL = {
    "fetch": {"host"}, "XMLHttpRequest": {"host"}, "globalThis": {"host"}, "gradio_config": {"host"}, ".sidebar": {"host"},
    "document.body": {"shell.js", "host"}, "document.documentElement": {"shell.js"}, "document.querySelector": {"host"},
    "document.baseURI": {"host"}, "location": {"shell.js", "address.js"}, "history": {"address.js"}, "navigator": {"shell.js"},
    "window": {"address.js", "handout.js"}, "matchMedia": {"shell.js", "view.js"}, "MutationObserver": {"host"}, "ResizeObserver": {"view.js", "why.js", "host"},
    "addEventListener": {"life.js", "host"}, "requestAnimationFrame": {"life.js"}, "setTimeout": {"life.js", "export.js", "host"},
    "setInterval": set(), "localStorage": set(), "innerHTML": set(), "outerHTML": set(), "insertAdjacentHTML": set(),
    "document.write": set(), "eval": set(), "Function": set(), "import.meta": set()}


def code(path):
    """A script without its comments."""
    return re.sub(r"(?m)(^|\s)//.*$", "", path.read_text())


def test_templates_are_constant():
    assert sorted(f"{name}.css" for name in NAMED) == sorted(path.name for path in STYLES)
    for path in (*STYLES, PAGE / "message.css"):
        assert not any(sign in path.read_text() for sign in ("${", "{{", "\\", "`")), path.name


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_a_module_uses_of_the_browser_what_is_its_business(path):
    """Text is written only as text; a view listens to its elements, the shell to the page, and only a host asks a server."""
    for word, users in GLOBAL.items():
        used = re.search(rf"(?<![\w.'-]){re.escape(word)}\b" if word[0].isalpha() else re.escape(word), code(path))
        assert not used or users & {path.name, path.parent.name}, f"{path.name} uses {word}"
    assert not re.search(r"\bimport\(", code(path)), "imports are static"
    assert set(re.findall(r"https?://[^'\"]+", path.read_text())) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_a_module_imports_only_what_is_beside_it(path):
    """By relative paths, so that one file may carry them all; and nothing above it: the view knows no shell, the shell no host."""
    rank = {"host": 3, "shell.js": 2, "keys.js": 2, "address.js": 2}
    here = max(rank.get(path.name, 1), rank.get(path.parent.name, 1))
    for names, place in re.findall(r"^import \{([^}]+)\} from '(.+?)';$", path.read_text(), re.M):
        there = (path.parent / place).resolve()
        assert place.startswith(".") and there in SCRIPTS, place
        assert max(rank.get(there.name, 1), rank.get(there.parent.name, 1)) <= here, f"{path.name} imports {there.name}"
        for name in (name.split(" as ")[0].strip() for name in names.split(",")):
            assert re.search(rf"^export (?:const|class) (?:\w+ = [\d.]+,\s*)*{name}\b", there.read_text(), re.M), (place, name)
    whole = re.findall(r"^import \{[^}]+\} from '[^']+';$", path.read_text(), re.M)
    assert len(whole) == len(re.findall(r"^import |^export .* from '", path.read_text(), re.M)), "every import is spelled so that it is found"


def test_no_module_imports_one_that_imports_it():
    """Else none of the two could be made a blob before the other."""
    left = {path: {(path.parent / place).resolve() for place in re.findall(r" from '(.+?)';", path.read_text())} for path in SCRIPTS}
    while ready := [path for path, needs in left.items() if not needs & left.keys()]:
        for path in ready:
            del left[path]
    assert not left


def test_a_pack_has_every_module_as_it_lies_there_and_the_words_of_every_language():
    packed = pack()
    assert packed["modules"] == {path.relative_to(VIEW).as_posix(): path.read_text(encoding="utf-8") for path in SCRIPTS}
    for language in sorted((ROOT / "assets" / "words").glob("*.json")):
        words = packed["words"][language.stem]
        assert set(words) == {"name", "switch", "view"} and words["view"] == json.loads(language.read_text(encoding="utf-8"))["view"]


def test_the_view_takes_lines_and_gives_a_component():
    from tests.trace_maker import make_trace
    from treeviz.story.lines import page_lines
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


def test_a_file_that_breaks_the_viewer_is_one_sentence(tmp_path, monkeypatch):
    from core.trace import TraceError
    from tests.trace_maker import make_trace
    from treeviz.page import gallery
    make_trace(rounds=1).save(tmp_path / "run.jsonl")
    monkeypatch.setattr(gallery, "each_line", lambda *_: 1 / 0)
    with pytest.raises(TraceError, match=r"run\.jsonl cannot be shown"):
        list(gallery.lines_in(tmp_path / "run.jsonl"))


def palette(css, start, end):
    return dict(re.findall(r"--tv-(\w+): #([0-9a-f]{6})", css[css.index(start):css.index(end)]))


def contrast(one, other):
    def light(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read_in_both_themes(theme):
    css = "".join((VIEW / "styles" / f"{name}.css").read_text() for name in NAMED)
    colours = palette(css, ".tv {", ".tv.dark {")
    if theme == "dark":
        colours |= palette(css, ".tv.dark {", ".tv * {")
    written = {"card": "ink soft blue green verm amber purple", "paper": "ink soft", "shade": "ink soft", "kept": "ink soft amber",
               "lilac": "purple", "green": "on", "ink": "card"}
    for ground, inks in written.items():
        for ink in inks.split():
            assert contrast(colours[ink], colours[ground]) >= 4.5, f"{ink} on {ground}"
    faded = float(re.search(r"\.committed \.n\.s-k \{\s*fill-opacity: (\S+);", css)[1])  # what the cache drops can still be read
    over = [sum(share * int(colours[name][i:i + 2], 16) for name, share in (("ink", faded), ("kept", 1 - faded))) for i in (0, 2, 4)]
    assert contrast("".join(f"{round(x):02x}" for x in over), colours["kept"]) >= 4.5
