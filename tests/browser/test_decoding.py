"""The page around the view: decoding live, the charts of a run, and both languages."""

import json

import pytest

from tests.browser.page import now, open_sidebar, speak, unfold
from treeviz.story.language import LANGUAGES

pytestmark = pytest.mark.timeout(170)


def test_run_tab_has_charts(visit):
    page = visit.open()
    page.get_by_role("tab", name="The whole run").click()
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length === 4", timeout=40000)
    page.get_by_role("tab", name="Inside a round").click()
    page.wait_for_selector(".tv-tree .n")
    assert now(page)["rounds"] == 4


def charts_asked_for(page):
    """The list of languages in which the charts were asked for, as it grows."""
    asked = []

    def look(request):
        if "/queue/join" in request.url:
            shown, *language = json.loads(request.post_data)["data"] or [None]
            if str(shown).startswith("run:") and len(language) == 1:
                asked.extend(language)

    page.on("request", look)
    return asked


def charts_say(page, text):
    page.wait_for_selector(f"p:visible:has-text('{text}')", timeout=40000)
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length === 4", timeout=40000)


def test_the_charts_follow_the_run_where_they_are_looked_at(visit):
    page = visit.open()
    open_sidebar(page)
    asked = charts_asked_for(page)
    page.get_by_role("radio", name="The same question with").check()
    page.wait_for_function("document.querySelector('.tv').treeviz.data.header.page.name === 'sky'")
    page.wait_for_timeout(1500)
    assert asked == [], "not while nobody looks at them"
    page.get_by_role("tab", name="The whole run").click()
    charts_say(page, f"in {now(page)['rounds']} rounds")
    page.get_by_role("radio", name="Your file").check()
    charts_say(page, "in 4 rounds")
    assert asked == ["en"] * 2

    page.get_by_label("As a chat message").uncheck()
    page.get_by_label("Prompt", exact=True).fill("abcdefgh")
    page.get_by_role("button", name="Decode", exact=True).click()
    page.wait_for_selector("#tv-message [data-kind=ok]", timeout=60000)
    rounds = now(page)["rounds"]
    assert rounds > 4
    charts_say(page, f"in {rounds} rounds")
    assert asked == ["en"] * 3, "at its end, not at each of its rounds"


def test_the_charts_follow_a_language_that_comes_with_their_tab(visit):
    page = visit.open()
    page.evaluate("""() => {
      while (document.documentElement.lang !== 'zh') document.querySelector('[data-action=lang]').click();
      [...document.querySelectorAll('[role=tab]')].find(tab => tab.textContent.includes('whole run')).click();
    }""")
    charts_say(page, "接受长度")
    page.wait_for_selector(".js-plotly-plot:visible :text('每轮的词元')")


def start_a_long_run(page, chat, prompt, fold, decode):
    """By the form, whose words are in the page's language; until two rounds are there."""
    page.get_by_label(chat).uncheck()
    page.get_by_label(prompt, exact=True).fill("abcdefgh")
    page.keyboard.press("Tab")
    unfold(page, page.get_by_role("button", name=fold))
    page.get_by_label("number input for max_new_tokens").fill("1500")
    page.keyboard.press("Tab")
    page.get_by_role("button", name=decode, exact=True).click()
    page.wait_for_function("!document.querySelector('.tv').treeviz.data.footer && document.querySelector('.tv').treeviz.data.rounds > 1")


def test_live_decoding_streams_stops_and_tells_errors(visit):
    page = visit.open()
    open_sidebar(page)
    page.get_by_role("button", name="Decode", exact=True).click()  # a chat, but this tokenizer has no template
    page.wait_for_selector("#tv-message [data-kind=error]", timeout=60000)
    assert "chat template" in page.text_content("#tv-message") and now(page)["rounds"] == 4, "the last good run stays"

    start_a_long_run(page, "As a chat message", "Prompt", "Sampling and length", "Decode")
    page.click(".tv-head h1")
    page.click(".tv-bars .bar >> nth=0")
    page.keyboard.press("Home")
    rounds = now(page)["rounds"]
    page.wait_for_function(f"document.querySelector('.tv').treeviz.data.rounds > {rounds}")
    assert now(page)["round"] == 0 and now(page)["frame"] == 0, "new rounds do not move what one looks at"
    page.get_by_role("button", name="Stop", exact=True).click()
    page.wait_for_selector("#tv-message [data-kind=ok]")
    page.wait_for_function("document.querySelector('.tv').treeviz.data.footer?.output.finish_reason === 'cancelled'")
    assert "stopped" in page.text_content(".tv-pills")


def chinese(page, *texts):
    """Waits until all of these are on the page."""
    for text in texts:
        page.wait_for_selector(f"text={text} >> nth=0", state="attached")


def test_the_page_follows_the_switch_and_keeps_what_was_typed(visit):
    page = visit.open()
    with page.expect_response(lambda answer: "/run/predict" in answer.url):  # what the pair costs by now
        open_sidebar(page)
    page.wait_for_function(r"!/\d\.\ds/.test(document.querySelector('.sidebar').innerText)")  # no clock runs any more
    english = page.inner_text(".sidebar")
    page.get_by_label("Prompt", exact=True).fill("abcdefgh")
    for fold in page.locator(".tv-form button.label-wrap").all():
        unfold(page, fold)
    page.get_by_label("seed").fill("-1")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Decode", exact=True).click()
    page.wait_for_selector("#tv-message [data-kind=error]", timeout=60000)
    assert page.text_content("#tv-message").strip().startswith("seed is -1; give")
    opened = page.inner_text(".sidebar")

    speak(page, "zh")
    chinese(page, "解码一个提示", "作为对话消息", "现成的树", "论文的", "采样与长度", "录制的运行", "打开轨迹", "走进一轮")
    assert page.text_content("#tv-message").strip().startswith("seed 为 -1；请填"), "also what was said before"
    assert page.get_by_label("draft_vocab").input_value() == "全部词元"
    assert "Ready" not in page.inner_text(".sidebar") and "runs" not in page.inner_text(".sidebar")
    assert page.get_by_label("提示", exact=True).input_value() == "abcdefgh"
    assert page.get_by_label("seed").input_value() == "-1" and now(page)["rounds"] == 4
    page.get_by_label("提示", exact=True).fill("")
    page.get_by_role("button", name="解码", exact=True).click()  # a number out of bounds is ours to answer, as before
    page.wait_for_function("document.querySelector('#tv-message').textContent.includes('提示是空的')")
    page.get_by_label("提示", exact=True).fill("abcdefgh")
    page.get_by_role("button", name="解码", exact=True).click()
    page.wait_for_function("document.querySelector('#tv-message').textContent.includes('seed 为 -1')")

    page.get_by_role("tab", name="整个运行").click()
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length === 4", timeout=40000)
    assert "每轮的词元" in page.text_content(".js-plotly-plot >> nth=0") and page.is_visible("text=接受长度")
    page.get_by_role("tab", name="走进一轮").click()
    speak(page, "en")
    page.wait_for_function("text => document.querySelector('.sidebar').innerText === text", arg=opened)
    assert page.get_by_label("Prompt", exact=True).input_value() == "abcdefgh"
    assert set(english.split("\n")) <= set(opened.split("\n"))


def test_a_chinese_browser_finds_a_chinese_page_and_may_switch_while_a_run_goes_on(visit):
    page = visit.open("#lang=zh")
    open_sidebar(page, "解码")
    start_a_long_run(page, "作为对话消息", "提示", "采样与长度", "解码")
    page.wait_for_selector("#tv-message :text('正在解码。')")
    speak(page, "en")
    page.wait_for_selector("#tv-message :text('Decoding.')")
    rounds = now(page)["rounds"]
    page.wait_for_function(f"document.querySelector('.tv').treeviz.data.rounds > {rounds}")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.wait_for_selector("#tv-message [data-kind=ok]:text('Stopped.')")
    for _ in range(len(LANGUAGES)):  # of quick switches the last counts
        page.click("[data-action=lang]")
    speak(page, "zh")
    page.wait_for_selector("text=解码一个提示")
    page.wait_for_selector("#tv-message :text('已停止。')")
    assert page.get_by_label("number input for max_new_tokens").input_value() == "1500"


PROMPTS = ["abcdefgh", "hgfedcba"]


@pytest.mark.parametrize("tree", [{}, {"top_k": 16, "depth": 10, "total_tokens": 900}], ids=["the form as it is", "a large tree"])
def test_decode_pressed_during_ones_own_run_always_ends_with_the_new_one(visit, tree):
    page = visit.open()
    open_sidebar(page)
    start_a_long_run(page, "As a chat message", "Prompt", "Sampling and length", "Decode")
    if tree:
        unfold(page, page.locator(".tv-form button.label-wrap").first)
    for name, value in tree.items():
        page.get_by_label(f"number input for {name}").fill(str(value))
        page.keyboard.press("Tab")
        page.wait_for_timeout(200)
    shown = "document.querySelector('.tv').treeviz.data"
    for turn, pause in enumerate((0, 20, 50, 100, 150, 200, 300, 500, 800, 1200, 2000, 3000)):
        page.get_by_label("Prompt", exact=True).fill(f"{PROMPTS[turn % 2]} {turn}")
        page.get_by_role("button", name="Decode", exact=True).click()
        page.wait_for_timeout(pause)
    page.get_by_label("Prompt", exact=True).fill("the last one")
    page.get_by_label("number input for max_new_tokens").fill("12")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Decode", exact=True).click()
    page.wait_for_function(f"{shown}.header?.prompt.text === 'the last one' && {shown}.footer?.output.token_ids.length === 12", timeout=90000)
    page.wait_for_selector("#tv-message [data-kind=ok]:text('Done.')")
