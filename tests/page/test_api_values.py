"""Values that the page does not expect: one sentence each, for /decode and for the page's own listeners, and no traceback."""

import json

import pytest
from served import STORYBOOK, served

pytestmark = pytest.mark.timeout(170)
RUN = {"prompt": "Once upon a time", "chat": False, "max_new_tokens": 3, "top_k": 2, "depth": 1, "total_tokens": 4}
NOT_UPLOADED = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
ELSEWHERE = {"path": "http://example.org/x", "url": "http://example.org/x", "meta": {"_type": "gradio.FileData"}}


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    with served(tmp_path_factory.mktemp("app"), *STORYBOOK) as app:
        yield app
        assert "Traceback" not in app.log.read_text()


@pytest.mark.parametrize("name, value, said", [
    ("pair", {"a": 1}, 'There is no pair {"a": 1} here; there is storybook'), ("pair", None, "There is no pair null here"),
    ("pair", ["storybook"], 'There is no pair ["storybook"] here'), ("pair", NOT_UPLOADED, "is not of its kind"),
    ("seed", 10**400, "seed is 1000000000"), ("seed", -10**400, "seed is -1000000000"), ("seed", {"en": 1}, 'seed is {"en": 1};'),
    ("seed", "7", 'seed is "7"; give a number'), ("top_k", 10**30, "give a number from 1 to 16"),
    ("prompt", NOT_UPLOADED, "A value of this request is not of its kind; give text, numbers, true or false"),
    ("prompt", ELSEWHERE, "is not of its kind"), ("prompt", [[ELSEWHERE]], "is not of its kind"),
    ("prompt", {"text": "a"}, "The prompt is not text"), ("prompt", None, "The prompt is not text"),
    ("prompt", 5, "The prompt is not text"), ("prompt", "\ud800", "is not valid UTF-8 text"),
    ("chat", "yes", 'chat is "yes"; give true or false.'), ("chat", 1, "chat is 1; give true or false."),
    ("chat", 0, "chat is 0; give true or false."), ("chat", None, "chat is null; give true or false."),
])
def test_a_value_of_another_kind(app, name, value, said):
    answer = app.call("v2/decode", RUN | {name: value})
    assert said in answer["error"] and answer["error"].endswith(".") and "\n" not in answer["error"]


def test_values_by_place(app):
    assert app.call("decode", {"data": []})["error"].startswith("A value of this request is not of its kind")
    assert app.call("decode", {"data": ["Once"] * 20})["error"].startswith('There is no pair "Once" here')


def test_a_good_request_is_answered_after_all_of_them(app):
    answer = app.call("v2/decode", RUN)
    assert answer[0]["summary"]["new_tokens"] == 3


@pytest.mark.parametrize("value", [None, {"a": 1}, [1], 10**400, "\ud800", NOT_UPLOADED, ELSEWHERE], ids=lambda v: ascii(v)[:12])
def test_every_listener_of_the_page_goes_on(app, value):
    for listener in json.loads(app.ask("/config")[2])["dependencies"]:
        if listener["backend_fn"]:
            said = app.listen(listener["id"], [value] * len(listener["inputs"]), value)
            assert said["success"] or said["output"]["error"], (listener["targets"], said)
