"""What comes into the page and what leaves it: traces and pictures."""

import json

import pytest

from core.trace import Trace
from core.trace.summary import NO_CHECK
from tests.browser.page import now, open_sidebar, speak
from tests.trace_maker import make_trace, trace_with_first_token

pytestmark = pytest.mark.timeout(170)


def test_a_wrong_file_gets_a_sentence_and_the_run_stays(visit, folder):
    page = visit.open()
    bad = folder / "bad.json"
    bad.write_text('{"format": "eagle2-trace", "schema_version": 9, "rounds": []}')
    open_sidebar(page)
    page.set_input_files("input[type=file]", str(bad))
    page.wait_for_selector("#tv-opened .tv-message[data-kind=error]")
    assert "schema_version" in page.text_content("#tv-opened")
    assert now(page)["rounds"] == 4
    page.wait_for_function("(r => r.top >= 0 && r.bottom <= innerHeight + 1)(document.querySelector('#tv-opened').getBoundingClientRect())")


def test_save_gives_the_trace_back(visit, folder):
    page = visit.open()
    with page.expect_download() as download:
        page.evaluate("document.querySelector('.tv').treeviz.shell.save()")
    path = folder / "saved.jsonl"
    download.value.save_as(path)
    assert Trace.load(path) == Trace.load(folder / "opening.json.gz")


def test_a_long_word_as_a_prompt_makes_no_long_file_name(visit, folder):
    page = visit.open()
    path = folder / "word.jsonl"
    make_trace(rounds=1, words=["\U00020000" * 300, *[f" w{i}" for i in range(14)]]).save(path)
    page.set_input_files("input[type=file]", str(path))
    page.wait_for_function("document.querySelector('.tv').treeviz.data.rounds === 1")
    with page.expect_download() as download:
        page.evaluate("document.querySelector('.tv').treeviz.shell.save()")
    name = download.value.suggested_filename
    assert len(name) < 80 and name.endswith(".trace.jsonl") and set(name.split(".")[0]) <= set("\U00020000-w123")


def test_what_was_left_out_of_a_run_is_on_the_page(visit, folder):
    path, document = folder / "left-out.json", make_trace(rounds=1).to_dict()
    for more in ("", "; not applied: repetition_penalty 1.3 (generation config)"):
        document["check"] = NO_CHECK | {"note": "not compared with plain decoding" + more}
        document["prompt"]["text"] = f"opened{len(more)}"
        Trace.from_dict(document).save(path)
        page = visit.open()
        page.set_input_files("input[type=file]", str(path))
        page.wait_for_selector(f".tv-run:has-text('opened{len(more)}')")
        pills = page.locator(".tv-pills [title*='repetition_penalty 1.3']")
        assert pills.all_text_contents() == (["not compared with plain decoding"] if more else [])


def test_pictures_can_be_saved(visit, folder):
    page = visit.open()
    for name, ending in (("svg", ".svg"), ("png", ".png"), ("maskSvg", ".svg"), ("maskPng", ".png")):
        page.click(".tv-menu summary")
        with page.expect_download() as download:
            page.click(f"[data-action={name}]")
        path = folder / f"picture{name}{ending}"
        download.value.save_as(path)
        assert path.read_bytes()[:4] in (b"\x89PNG", b"<svg") and path.stat().st_size > 2000


def test_a_picture_that_cannot_be_made_is_said(visit):
    page = visit.open()
    page.evaluate("() => { HTMLCanvasElement.prototype.toBlob = done => done(null); }")
    page.click(".tv-menu summary")
    page.click("[data-action=png]")
    page.wait_for_selector(".tv-toast:has-text('save the tree as SVG')")


def toasts(page):
    """What the view says in passing, from now on."""
    page.evaluate("""() => { const toast = document.querySelector('.tv-toast'); window.said = [];
        new MutationObserver(() => said.push(toast.textContent)).observe(toast, {childList: true}); }""")
    return lambda: page.evaluate("said")


def test_what_is_too_large_is_said_before_it_is_sent(visit, folder):
    page, sent = visit.open(), []
    page.on("request", lambda request: sent.append(request.url) if "/upload" in request.url else None)
    assert page.evaluate("gradio_config.max_file_size") == 64 * 2**20
    page.evaluate("gradio_config.max_file_size = 2 ** 20")
    path = folder / "large.json"
    path.write_bytes(b" " * (3 * 2**20))
    page.set_input_files("input[type=file]", str(path))
    page.wait_for_selector(".tv-toast:has-text('large.json has 3 MB and was not sent: a trace may have 1 MB here')")
    assert not sent and now(page)["rounds"] == 4
    page.evaluate("gradio_config.max_file_size = 2 ** 26")
    make_trace(rounds=2).save(path)
    page.set_input_files("input[type=file]", str(path))
    page.wait_for_function("document.querySelector('.tv').treeviz.data.rounds === 2")
    assert sent


def test_an_upload_tells_how_far_it_is(visit, folder):
    page = visit.open()
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", {
        "offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 400_000})
    said, path = toasts(page), folder / "slow.json"
    path.write_text(json.dumps(make_trace(rounds=3).to_dict(), indent=400))
    page.set_input_files("input[type=file]", str(path))
    page.wait_for_function("document.querySelector('.tv').treeviz.data.rounds === 3")
    shares = [int(text.split()[-2]) for text in said() if text.startswith("Uploading")]
    assert len(shares) >= 2 and shares == sorted(shares) and "being read" in said()[-1]


def test_a_run_without_rounds_shows_its_token(visit, folder):
    page, path = visit.open(), folder / "none.json"
    trace_with_first_token("*The end$").save(path)
    open_sidebar(page)
    page.set_input_files("input[type=file]", str(path))
    page.wait_for_selector(".tv-empty:has-text('“*The·end$”, ended the text: nothing was drafted')")
    assert page.text_content(".tv-stream .piece") == "*The end$"
    assert "tau" not in page.text_content(".tv-pills")
    speak(page, "zh")
    page.wait_for_selector(".tv-empty:has-text('就结束了文本')")
    with page.expect_download() as download:
        page.evaluate("document.querySelector('.tv').treeviz.shell.save()")
    download.value.save_as(folder / "again.jsonl")
    assert Trace.load(folder / "again.jsonl") == Trace.load(path)


def test_a_run_without_rounds_may_come_while_another_is_being_drawn(visit):
    page = visit.open()
    page.evaluate("""() => {
      const view = document.querySelector('.tv').treeviz, {header, lines} = view.data;
      view.set({frame: 0});  // what fills in waits for the next painting
      const footer = {page: {say: {en: 'ended', zh: 'ended'}, labels: {}, pieces: [[0, 'x']]}, output: {token_ids: [1], text: 'x', finish_reason: 'eos'},
        summary: {}, check: {lossless: null, note: '', clock: []}};
      view.read([header, footer].map(part => JSON.stringify(part) + '\\n').join(''));
    }""")
    page.wait_for_timeout(100)
    page.wait_for_selector(".tv-empty:has-text('ended')")
