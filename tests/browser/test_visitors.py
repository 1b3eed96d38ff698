"""The named endpoint, and many visitors at once: everybody gets their own run, in turn, and nothing is left behind."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.trace import Trace
from tests.browser.page import unfold
from tests.browser.visitors import Visitor, last_message
from treeviz.page.gallery import recorded
from treeviz.story.lines import trace_of

pytestmark = pytest.mark.timeout(170)
gradio_client = pytest.importorskip("gradio_client")
SMALL = dict(Pair="storybook", As_a_chat_message=False, top_k=3, depth=2, total_tokens=6)


@pytest.fixture(scope="module")
def client(server):
    return gradio_client.Client(server[0], verbose=False)


def test_what_is_public(client):
    assert list(client.view_api(return_format="dict")["named_endpoints"]) == ["/decode", "/cost", "/sweep"]


def test_decode_returns_a_trace(client):
    document = client.predict("abcdefgh", chat=False, max_new_tokens=12, top_k=4, depth=2, total_tokens=12, api_name="/decode")
    trace = Trace.from_dict(document)
    assert trace.summary.new_tokens == 12 and trace.prompt.text == "abcdefgh" and trace.config["depth"] == 2


@pytest.mark.parametrize("settings, word", [
    (dict(chat=True), "chat template"), (dict(total_tokens=9999), "total_tokens"), (dict(temperature=-1.0, chat=False), "temperature"),
    (dict(max_new_tokens=10**6), "from 1 to 2,048"), (dict(pair="gpt"), "no pair"), (dict(draft_vocab=100, chat=False), "draft_vocab")])
def test_bad_input_is_a_sentence(client, settings, word):
    with pytest.raises(gradio_client.exceptions.AppError, match=word):
        client.predict("abc", **settings, api_name="/decode")


def memory(process):
    """Megabytes that the server holds."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1]) / 1024


def test_twenty_read_and_four_decode(server):
    address, process = server
    runs = [run for run in recorded() if run.path.stat().st_size < 120_000]
    warm = Visitor(address)
    for run in runs:
        warm.ask("pick", [run.sentence])
    warm.run(**SMALL, Prompt="Once", max_new_tokens=4)
    before = memory(process) if Path("/proc/self/status").exists() else None

    def read(number):
        visitor, wrong = Visitor(address), []
        for run in (runs[(number + i) % len(runs)] for i in range(4)):
            lines = visitor.lines(visitor.ask("pick", [run.sentence])["output"]["data"][0])
            header = json.loads(lines.partition("\n")[0])
            if header["page"]["name"] != run.name or lines.count("\n") < 3:
                wrong.append(run.name)
        return wrong

    def decode(number):
        visitor, prompt = Visitor(address), f"Once upon a time there were {number} foxes"
        done = [visitor.run(**SMALL, Prompt=prompt, max_new_tokens=10) for _ in range(2)]
        return [(trace_of(lines), message, prompt) for lines, message in done]

    with ThreadPoolExecutor(24) as pool:
        decoding = [pool.submit(decode, number) for number in range(4)]
        reading = [pool.submit(read, number) for number in range(20)]
        assert [future.result(150) for future in reading] == [[]] * 20
        for future in decoding:
            for trace, message, prompt in future.result(150):
                assert trace.prompt.text == prompt and trace.summary.new_tokens == 10 and message == "ok:Done."
    if before:
        assert memory(process) < before + 400, "the server holds on to what its visitors looked at"


def test_the_place_in_the_line_is_told_and_stop_lets_the_next_one_in(server):
    first, second, heard = Visitor(server[0]), Visitor(server[0]), threading.Event()

    def long_run():
        told = []
        for said in first.decode(Prompt="abcdefgh", As_a_chat_message=False, max_new_tokens=2000):
            told.append(said)
            if "busy:Decoding." in json.dumps(said):
                heard.set()
        return first.outcome(told)

    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(long_run)
        assert heard.wait(60)
        told = []
        for said in second.decode(**SMALL, Prompt="Once upon a time", max_new_tokens=8):
            told.append(said)
            if "A run is before yours; 2 in the line." in json.dumps(said):
                first.send("stop")
        lines, message = run.result(60)
    assert any("A run is before yours; 2 in the line." in json.dumps(said) for said in told)
    assert message == "ok:Stopped." and trace_of(lines).output.finish_reason == "cancelled"
    lines, message = second.outcome(told)
    assert message == "ok:Done." and trace_of(lines).summary.new_tokens == 8 and trace_of(lines).pair.name == "storybook"


LONG = dict(Prompt="abcdefgh", As_a_chat_message=False, max_new_tokens=2000)  # many times longer than these tests wait


def reach(visitor, word):
    """Press Decode and listen until `word` is heard."""
    heard = visitor.decode(**LONG)
    assert any(word in json.dumps(said) for said in heard)
    return heard


def test_whoever_closes_the_tab_while_decoding_makes_room(server):
    for _ in range(12):  # a run that went on would let the next one wait
        reach(Visitor(server[0]), "busy:Decoding.").close()
    lines, message = Visitor(server[0]).run(**SMALL, Prompt="Once upon a time", max_new_tokens=6)
    assert message == "ok:Done." and trace_of(lines).summary.new_tokens == 6


def test_whoever_closes_the_tab_while_waiting_makes_room(server):
    first = Visitor(server[0])
    running = reach(first, "busy:Decoding.")
    for waiting in [reach(Visitor(server[0]), " before yours;") for _ in range(12)]:
        waiting.close()
    first.send("stop")
    assert last_message(list(running)) == "ok:Stopped."
    lines, message = Visitor(server[0]).run(**SMALL, Prompt="Once upon a time", max_new_tokens=6)
    assert message == "ok:Done." and trace_of(lines).summary.new_tokens == 6


def test_numbers_out_of_bounds_are_sentences_on_the_page(server):
    visitor = Visitor(server[0])
    _, message = visitor.run(Prompt="abc", As_a_chat_message=False, top_k=99)
    assert message == "error:top_k is 99; give a number from 1 to 16."
    _, message = visitor.run(Prompt="abc", As_a_chat_message=False, top_k=2, depth=1)
    assert message.startswith("error:total_tokens is 59, but top_k 2 and depth 1 give only 6 candidates")


def test_the_run_on_the_page_stays_where_none_takes_its_place(server):
    visitor, sent = Visitor(server[0]), []
    for prompt in ("", "abc"):  # nothing to decode; and no chat template, found out after the run has begun
        sent += [said["output"]["data"] for said in visitor.decode(Prompt=prompt) if said.get("output", {}).get("data")]
    assert not [data for data in sent if isinstance(data[0], str)], "no run to read"
    assert sent[-1][1].startswith("error:The tokenizer")


def open_form(page):
    page.click("[data-action=runs]")
    page.wait_for_selector("button:has-text('Decode'):visible >> nth=0")


def test_the_form_keeps_its_parts_possible(visit):
    page = visit.open()
    open_form(page)
    assert page.get_by_label("As a chat message").is_checked()
    page.get_by_label("Pair", exact=True).click()
    page.get_by_role("option", name="storybook").click()
    page.wait_for_function("document.querySelector('#tv-prompt textarea').value === 'Once upon a time'")
    assert not page.get_by_label("As a chat message").is_checked()
    unfold(page, page.locator(".tv-form button.label-wrap").first)
    page.get_by_label("for a CPU").click()
    most = "document.querySelector('input[aria-label=\"range slider for total_tokens\"]').max"
    page.wait_for_function(f"{most} === '26'")  # top_k 2, depth 6
    assert page.get_by_label("number input for total_tokens").input_value() == "10"
    page.get_by_label("number input for top_k").fill("4")
    page.keyboard.press("Tab")
    page.wait_for_function(f"{most} === '100'")
    page.wait_for_function("![...document.querySelectorAll('.tv-form input[type=radio]:checked')]"
                           ".some(e => ['paper', 'cpu'].includes(e.value))")  # no ready-made tree any more
    page.get_by_label("the paper’s").click()
    page.wait_for_function(f"{most} === '510'")
    assert page.get_by_label("number input for total_tokens").input_value() == "59"


def test_a_number_on_its_way_takes_no_total_away(visit):
    page = visit.open()
    open_form(page)
    unfold(page, page.locator(".tv-form button.label-wrap").first)
    most, total = 'input[aria-label="range slider for total_tokens"]', page.get_by_label("number input for total_tokens")
    for name in ("top_k", "depth"):
        page.get_by_label(f"number input for {name}").fill("1")
        page.wait_for_function(f"document.querySelector('{most}').max === '{6 if name == 'top_k' else 110}'")
        assert total.input_value() == ("6" if name == "top_k" else "59")
        for odd in ("", "-3", "99"):
            page.get_by_label(f"number input for {name}").fill(odd)
            page.wait_for_timeout(150)
            assert int(page.get_attribute(most, "max")) > 0 and int(total.input_value()) in (6, 59)
        page.get_by_label(f"number input for {name}").fill("10" if name == "top_k" else "5")
        page.wait_for_function(f"document.querySelector('{most}').max === '510'")
        assert total.input_value() == "59", "what was chosen is there again"
    total.fill("20")
    page.get_by_label("number input for top_k").fill("1")
    page.wait_for_function(f"document.querySelector('{most}').max === '6'")
    page.get_by_label("number input for top_k").fill("12")
    page.wait_for_function(f"document.querySelector('{most}').max === '732'")
    assert total.input_value() == "20"


def test_a_run_in_a_hidden_tab_is_whole_when_the_tab_is_shown_again(visit):
    page = visit.open()
    open_form(page)
    page.get_by_label("As a chat message").uncheck()
    page.get_by_label("Prompt", exact=True).fill("abcdefgh")
    unfold(page, page.locator(".tv-form button.label-wrap").last)
    page.get_by_label("number input for max_new_tokens").fill("300")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Decode", exact=True).click()
    page.wait_for_selector(".tv-message[data-kind=busy]")
    tab = page.context.new_cdp_session(page)
    tab.send("Page.setWebLifecycleState", {"state": "frozen"})  # what a browser does to a tab that nobody sees
    other = Visitor(visit.address)  # its turn comes when the hidden run has ended
    assert other.run(**SMALL, Prompt="Once", max_new_tokens=4)[1] == "ok:Done."
    tab.send("Page.setWebLifecycleState", {"state": "active"})
    page.wait_for_selector(".tv-message[data-kind=ok]")
    page.wait_for_function("document.querySelector('.tv').treeviz.data.footer?.output.token_ids.length === 300")
