"""What the browser side promises: a constant template, text only through textContent, nothing from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "assets").glob("view*.js"))
HOST = ROOT / "assets" / "page-runs.js"


def test_templates_are_constant():
    for name in ("view.html", "view.css", "message.css"):
        text = (ROOT / "assets" / name).read_text()
        assert not any(sign in text for sign in ("${", "{{", "\\", "`")), name


@pytest.mark.parametrize("path", [*SCRIPTS, HOST], ids=lambda p: p.name)
def test_scripts_write_text_only_as_text(path):
    text = path.read_text()
    if path == HOST:  # the one script that asks the server, and it asks for runs
        assert text.count("fetch(") == 1 and "fetch(address" in text and "`${root}/treeviz/runs/" in text
        text = text.replace("fetch(", "")
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
    css = (ROOT / "assets" / "view.css").read_text()
    colours = palette(css, ".tv {", ".tv.dark {")
    if theme == "dark":
        colours |= palette(css, ".tv.dark {", ".tv * {")
    written = {"card": "ink soft blue green verm amber purple", "paper": "ink soft", "shade": "ink soft", "kept": "ink soft amber",
               "lilac": "purple", "green": "on", "ink": "card"}
    for ground, inks in written.items():
        for ink in inks.split():
            assert contrast(colours[ink], colours[ground]) >= 4.5, f"{ink} on {ground}"
    faded = float(re.search(r"\.committed \.n\.s-k { fill-opacity: (\S+);", css)[1])  # what the cache drops can still be read
    over = [sum(share * int(colours[name][i:i + 2], 16) for name, share in (("ink", faded), ("kept", 1 - faded))) for i in (0, 2, 4)]
    assert contrast("".join(f"{round(x):02x}" for x in over), colours["kept"]) >= 4.5
