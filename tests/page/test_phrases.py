"""The words of the page around the view: whole in both languages, and all of them follow the switch."""

import re
from pathlib import Path

import pytest

from core.errors import UserError
from core.trace import TraceError
from treeviz.page.blocks import Options, build_page
from treeviz.page.choices import BOUNDS, Source, request_of
from treeviz.page.gallery import recorded
from treeviz.story.language import section
from treeviz.story.phrases import phrase, refusal, said_by, say
from treeviz.view import message

ROOT = Path(__file__).resolve().parents[2]
CHINESE = re.compile("[\u4e00-\u9fff]")
SAME = {*BOUNDS, "top-p", ""}  # labels that are names of settings


def test_one_is_said_as_one():
    assert phrase("ahead", n=1, length=2) == "A run is before yours; 2 in the line."
    assert phrase("ahead", n=3, length=5) == "3 runs are before yours; 5 in the line."
    said = say("reading", tokens=say("tokens", n=1))
    assert (said["en"], said["zh"]) == ("Reading the prompt (1 token).", "正在读提示（1 个词元）。")


def test_every_recorded_run_has_a_sentence():
    assert list(section("runs")) == [run.name for run in recorded()]
    for run in recorded():
        assert CHINESE.search(run.said["zh"]) and not CHINESE.search(run.sentence)
    said = recorded("folder/mine.jsonl")[0].said
    assert (said["en"], said["zh"]) == ("Your file mine.jsonl", "你的文件 mine.jsonl")


def test_whole_numbers_are_written_with_commas():
    assert phrase("error.long", n=20001, most=20000) == "The prompt has 20,001 characters; give 20,000 at most."
    assert phrase("error.whole", name="top_k", value=1.5, low=0, high=2**53).endswith(" from 0 to 9,007,199,254,740,992.")


def test_an_error_of_the_page_says_it_in_both_and_is_english_as_text():
    with pytest.raises(UserError, match=r"^top_k is 99; give") as error:
        request_of("storybook", "a", False, {"top_k": 99})
    assert said_by(error.value, "error.decoder")["zh"] == "top_k 为 99；请填 1 到 16 之间的数。"
    assert isinstance(refusal(say("error.empty"), TraceError), TraceError)
    assert message("ok", say("done")).startswith("ok:Done.\x1f") and "完成。" in message("ok", say("done")).split("\x1f")


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
