"""The README's recipe for a chart, followed in a copy: a function, its place, its words, and the page has it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from treeviz.figures import CHARTS

ROOT = Path(__file__).resolve().parents[2]
CHART = '''

def cache_figure(trace, language: str = ENGLISH) -> go.Figure:
    """Rows of the target's cache after each round."""
    figure = _figure(phrase("chart.cache", language, rounds=len(trace.rounds)))
    figure.add_bar(x=[r.index + 1 for r in trace.rounds], y=[r.cache.length_after for r in trace.rounds])
    return figure


CHARTS += (cache_figure,)
'''
SCRIPT = """
import json
import gradio as gr
from core.trace import Trace
from treeviz.page import charts

trace = Trace.load("assets/traces/sky-small.json.gz")
told = {}
for code in ("en", "zh"):
    with gr.Blocks() as page:
        charts.draw(trace, code)
    plots = [block for block in page.blocks.values() if isinstance(block, gr.Plot)]
    told[code] = [json.loads(plot.value["plot"])["layout"]["title"]["text"] for plot in plots]
told["y"] = list(charts.figures.cache_figure(trace).data[0].y)
told["after"] = [r.cache.length_after for r in trace.rounds]
print(json.dumps(told))
"""


def test_a_chart_is_a_function_its_place_and_its_words(tmp_path):
    shutil.copytree(ROOT / "treeviz", tmp_path / "treeviz", ignore=shutil.ignore_patterns("__pycache__"))
    os.symlink(ROOT / "core", tmp_path / "core")
    (tmp_path / "assets").mkdir()
    for place in (ROOT / "assets").iterdir():
        if place.name != "words":
            os.symlink(place, tmp_path / "assets" / place.name)
    words = shutil.copytree(ROOT / "assets" / "words", tmp_path / "assets" / "words")

    figures, english = tmp_path / "treeviz" / "figures.py", words / "en.json"
    figures.write_text(figures.read_text(encoding="utf-8") + CHART, encoding="utf-8")
    texts = json.loads(english.read_text(encoding="utf-8"))
    texts["page"]["chart.cache"] = "The cache in {rounds} rounds"
    english.write_text(json.dumps(texts), encoding="utf-8")

    run = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    title = f"The cache in {len(told['after'])} rounds"
    assert told["en"][-1] == title == told["zh"][-1], "in English until it is translated"
    assert len(told["en"]) == len(told["zh"]) == len(CHARTS) + 1 and told["en"][0] != told["zh"][0]
    assert told["y"] == told["after"]
