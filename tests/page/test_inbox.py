"""What is kept for whoever asks and does not come for the answer."""

import json
from types import SimpleNamespace

import pytest
from served import DEMO, run, served

from treeviz.page import inbox as module
from treeviz.page.inbox import Inbox


class Queue:
    """What gradio's does when something is asked: it keeps the event until it has run, and its answer until it is fetched."""

    def __init__(self):
        self.pending_event_ids_session, self.pending_messages_per_session, self.event_ids_to_events, self.count = {}, {}, {}, 0

    async def push(self, body, request, username):
        self.count += 1
        event = str(self.count)
        self.pending_event_ids_session.setdefault(body.session_hash, set()).add(event)
        self.pending_messages_per_session[body.session_hash] = "an answer"
        self.event_ids_to_events[event] = body
        return True, event, "success"


@pytest.fixture
def ask(monkeypatch):
    """Asks for something; returns whether it came in. `ask.silence` says who listens, `ask.queue` what is kept."""
    monkeypatch.setattr(module, "PER_ADDRESS", 3)
    queue, silence = Queue(), {}
    Inbox(queue, silence.get)

    def ask(session, address):
        request = SimpleNamespace(headers={}, client=SimpleNamespace(host=address))
        return run(queue.push(SimpleNamespace(session_hash=session), request, None))[0]

    ask.queue, ask.silence = queue, silence
    return ask


def test_an_address_has_a_few_until_they_are_fetched(ask):
    assert [ask(f"s{i}", "flood") for i in range(5)] == [True] * 3 + [False] * 2
    assert ask("ann", "honest")
    ask.queue.event_ids_to_events.clear()
    assert not ask("s5", "flood"), "answered is not fetched"
    ask.queue.pending_event_ids_session["s1"].clear()
    assert ask("s5", "flood") and "s1" not in ask.queue.pending_messages_per_session


def test_what_nobody_fetches_is_forgotten(ask, monkeypatch):
    for number, session in enumerate(("gone", "here", "runs")):
        ask(session, str(number))
    monkeypatch.setattr(module, "UNFETCHED", -1)
    ask.silence |= {"gone": 1.0, "here": 0.0}
    for event in ("1", "2"):
        del ask.queue.event_ids_to_events[event]
    ask.silence["here"] = -2.0  # younger than what is waited for
    ask("more", "4")
    assert set(ask.queue.pending_event_ids_session) == set(ask.queue.pending_messages_per_session) == {"here", "runs", "more"}


def test_a_refusal_is_in_the_language_of_the_browser():
    queue = Queue()
    Inbox(queue, {}.get)
    for language, said in (("zh-CN", "会话名最多 64 个字符"), ("en", "A session's name has at most 64 characters")):
        request = SimpleNamespace(headers={"accept-language": language}, client=SimpleNamespace(host="a"))
        success, sentence, state = run(queue.push(SimpleNamespace(session_hash="x" * 65), request, None))
        assert not success and sentence.startswith(said) and state == "error"


def test_a_name_is_short(ask):
    assert ask("x" * 64, "1") and not ask("x" * 65, "1")


def test_long_names_and_unknown_ones_are_answered_in_few_words(tmp_path):
    with served(tmp_path, *DEMO) as app:
        listeners = json.loads(app.ask("/config")[2])["dependencies"]
        body = {"data": [], "fn_index": listeners[0]["id"], "session_hash": "x" * 100_000}
        status, _, text = app.ask("/gradio_api/queue/join", body)
        assert status == 400
        assert json.loads(text)["detail"] == "A session's name has at most 64 characters; choose a shorter one."
        assert app.ask("/gradio_api/queue/data?session_hash=" + "x" * 10_000)[0] == 404
        assert "session_not_found" in app.ask("/gradio_api/queue/data?session_hash=nobody")[2]
        alone = [listener for listener in listeners if not listener["backend_fn"]]  # done by the browser itself
        assert alone
        for listener in alone:
            status, _, text = app.ask(f"/gradio_api/run/{listener['api_name']}", {"data": [], "fn_index": listener["id"]})
            assert status == 500 and json.loads(text)["error"]
        assert len(app.log.read_text()) < 500, "a log that strangers fill fills the disk"
