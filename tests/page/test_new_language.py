"""The README's recipe for a language, followed in a copy: one file, and everything speaks it, as far as it goes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from treeviz.story.language import LANGUAGES

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import json
from core.trace import Trace
from treeviz.page.blocks import Options, build_page
from treeviz.page.choices import Source
from treeviz.story.language import LANGUAGES
from treeviz.story.lines import page_lines
from treeviz.story.phrases import phrase, say
from treeviz import figures

trace = Trace.load("assets/traces/sky-small.json.gz")
page, _ = build_page(Options(Source("storybook", device="cpu")))
view = next(block for block in page.blocks.values() if getattr(block, "elem_id", None) == "tv-view")
frame = json.loads(page_lines(trace).splitlines()[1])["page"]["frames"][0]
print(json.dumps({"languages": LANGUAGES, "script": view.js_on_load, "say": frame["say"]["eo"], "english": frame["say"]["en"],
                  "decode": [phrase("decode", "eo"), phrase("stop", "eo")], "error": say("error.empty")["eo"],
                  "chart": figures.depth_figure(trace, "eo").layout.title.text}))
"""


def test_one_file_is_a_language(tmp_path):
    shutil.copytree(ROOT / "treeviz", tmp_path / "treeviz", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "assets").mkdir()
    for place in (ROOT / "assets").iterdir():
        if place.name != "words":
            os.symlink(place, tmp_path / "assets" / place.name)
    os.symlink(ROOT / "core", tmp_path / "core")
    words = shutil.copytree(ROOT / "assets" / "words", tmp_path / "assets" / "words")
    english = json.loads((words / "en.json").read_text(encoding="utf-8"))
    ours = {"name": "Esperanto", "switch": "EO", "view": {}, "story": {"root.first": "Post {n} ĵetonoj: {root}."},
            "page": {"decode": "Malkodi", "error.empty": "Skribu ion.", "chart.depth": "Profundo"}}
    (words / "eo.json").write_text(json.dumps(ours), encoding="utf-8")
    run = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["languages"] == ["en", *sorted({*LANGUAGES, "eo"} - {"en"})]
    assert json.dumps(told["languages"]) in told["script"]
    assert told["say"][0].startswith("Post ") and told["say"] != told["english"]
    assert told["decode"] == ["Malkodi", english["page"]["stop"]], "what is left out is English"
    assert told["error"] == "Skribu ion." and told["chart"] == "Profundo"
