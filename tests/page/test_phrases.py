"""The words of the page around the view: whole in both languages, and all of them follow the switch."""

import json
import re
from pathlib import Path

import pytest

from core.errors import UserError
from core.policies import SHIPPED
from core.trace import TraceError
from treeviz.page.blocks import Options, build_page
from treeviz.page.choices import BOUNDS, Source, request_of
from treeviz.page.gallery import HOME, recorded
from treeviz.story.language import HOME as WORDS
from treeviz.story.language import LANGUAGES, section
from treeviz.story.phrases import phrase, refusal, said_by, say
from treeviz.view import message

ROOT = Path(__file__).resolve().parents[2]
CHINESE = re.compile("[\u4e00-\u9fff]")
SAME = {*BOUNDS, "top-p", ""}  # labels that are names of settings


def flat(part, name=""):
    """Every text of a file of words, by its place."""
    if isinstance(part, dict):
        return {place: text for key, value in part.items() for place, text in flat(value, f"{name}/{key}").items()}
    if isinstance(part, list):
        return {place: text for i, value in enumerate(part) for place, text in flat(value, f"{name}/{i}").items()}
    return {name: part}


FILES = {language: flat(json.loads((WORDS / f"{language}.json").read_text(encoding="utf-8"))) for language in LANGUAGES}
TEXTS = {place for file in FILES.values() for place in file if not place.startswith("/page/run.")}  # those are English in the runs


@pytest.mark.parametrize("language", LANGUAGES[1:])
@pytest.mark.parametrize("place", sorted(TEXTS))
def test_every_language_says_it_with_the_same_values(place, language):
    english, other = FILES["en"][place], FILES[language][place]
    assert not CHINESE.search(english)
    names = [{name.split(":")[0] for name in re.findall(r"\{([^{}]*)\}", text)} for text in (english, other)]
    if place.startswith("/page/loading.") or place.endswith(".one"):  # the decoder's own notes are English; one has no number
        return
    if place.startswith(("/story/where.", "/story/verify.")):  # English says in a part of its own where the choices are
        return
    assert names[0] == names[1]


def test_every_phrase_is_used():
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "treeviz").rglob("*.py") if path.name != "phrases.py")
    for key in section("page"):
        name = key.removesuffix(".one")
        part = name.removeprefix("chart.").removeprefix("preset.").removeprefix("policy.").removeprefix("state.")  # put together where they are used
        assert name in BOUNDS or part in SHIPPED or f'"{name}"' in code or f'"{part}"' in code, key


def test_no_other_file_speaks_chinese():
    """What people read is in the files of words, so that a language is one file."""
    sources = [*(ROOT / "treeviz").rglob("*.py"), *(ROOT / "assets" / "view").rglob("*.js"), ROOT / "app.py"]
    assert [path.name for path in sources if CHINESE.search(path.read_text(encoding="utf-8"))] == []


def test_one_is_said_as_one():
    assert phrase("ahead", n=1, length=2) == "A run is before yours; 2 in the line."
    assert phrase("ahead", n=3, length=5) == "3 runs are before yours; 5 in the line."
    assert say("reading", tokens=say("tokens", n=1)) == {"en": "Reading the prompt (1 token).", "zh": "正在读提示（1 个词元）。"}


def test_every_recorded_run_has_a_chinese_sentence():
    assert {key.removeprefix("/page/run.") for key in FILES["zh"] if key.startswith("/page/run.")} == set(json.loads((HOME / "gallery.json").read_text(encoding="utf-8")))
    for run in recorded():
        assert CHINESE.search(run.said["zh"]) and not CHINESE.search(run.sentence)
    assert recorded("folder/mine.jsonl")[0].said == {"en": "Your file mine.jsonl", "zh": "你的文件 mine.jsonl"}


def test_an_error_of_the_page_says_it_in_both_and_is_english_as_text():
    with pytest.raises(UserError, match=r"^top_k is 99; give") as error:
        request_of("storybook", "a", False, {"top_k": 99})
    assert said_by(error.value, "error.decoder")["zh"] == "top_k 为 99；请填 1 到 16 之间的数。"
    assert isinstance(refusal(say("error.empty"), TraceError), TraceError)
    assert message("ok", say("done")) == "ok:Done.\x1f完成。"


@pytest.mark.parametrize("lead", ["error.decoder", "error.trace"])
def test_an_english_sentence_of_the_decoder_is_led_by_a_chinese_one(lead):
    said = said_by(UserError("Not a trace {x}."), lead)
    assert said["en"] == "Not a trace {x}."
    assert CHINESE.match(said["zh"]) and "请" in said["zh"] and said["zh"].endswith("：Not a trace {x}.")


def test_the_recorded_runs_have_a_name_for_the_ear():
    page, _ = build_page(Options(Source("storybook", device="cpu"), demo=True))
    choice = next(block for block in page.blocks.values() if type(block).__name__ == "Radio" and block.visible)
    assert choice.label == "Recorded runs"


@pytest.mark.parametrize("demo", [False, True])
def test_every_word_of_the_page_follows_the_switch(demo):
    page, _ = build_page(Options(Source("storybook", device="cpu"), demo))
    switch = next(fn for fn in page.fns.values() if fn.targets[0][1] == "language")
    view, parts = page.blocks[switch.targets[0][0]], switch.outputs[1:]
    assert switch.api_visibility == "private" and not switch.queue and view not in switch.outputs
    answers = {language: switch.fn(language, *(["storybook"] if not demo else [])) for language in ("zh", "en")}
    for language, (told, *updates) in answers.items():
        assert told == language
        for part, update in zip(parts, updates, strict=True):
            words = {name: value for name, value in update.items() if name != "__type__"}
            assert "value" not in words or type(part).__name__ in ("HTML", "Button"), "what a person has put in stays"
            assert bool(CHINESE.search(str(words))) == (language == "zh"), words
            if language == "en":  # it is what the page opened with
                shown = {name: getattr(part, name) for name in words}
                assert shown == words, "switched back, it is as before"
    for block in page.blocks.values():
        if block not in parts and type(block).__name__ != "Api":  # an endpoint's argument, not on the page
            for name in ("label", "info", "placeholder"):
                assert (getattr(block, name, None) or "") in SAME or not block.visible, f"{type(block).__name__} {name}"
