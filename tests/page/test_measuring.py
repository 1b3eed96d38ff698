"""What the page measures: over HTTP as the browser asks for it, and the engine behind it."""

import contextlib
import http.client
import json
from types import SimpleNamespace

import pytest
from served import DEMO, STORYBOOK, served

import treeviz.page.measured as measured
from core.errors import UserError
from core.measure.cost import Cost, load_cost
from treeviz.page.choices import Source
from treeviz.page.live import Engine
from treeviz.story.language import LANGUAGES
from treeviz.story.phrases import phrase

pytestmark = pytest.mark.timeout(170)
SWEEP = {"prompts": ["Once upon a time", "The dog"], "chat": False, "top_k": [1, 2], "depth": [0, 2],
         "total_tokens": [1, 5], "max_new_tokens": 8, "best": 1, "turns": 1}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def app(tmp_path_factory, cache):
    with served(tmp_path_factory.mktemp("app"), *STORYBOOK, env={"TREEVIZ_CACHE": str(cache)}) as app:
        yield app
        assert "Traceback" not in app.log.read_text()


def stream(app, endpoint, body):
    """All that an endpoint says, each thing once."""
    _, _, text = app.ask(f"/gradio_api/call/v2/{endpoint}", body)
    _, _, text = app.ask(f"/gradio_api/call/{endpoint}/{json.loads(text)['event_id']}")
    told = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ") and line != "data: null"]  # a pulse
    assert told[-1] == told[-2], "the last word is said again where the stream ends"
    return [said for (said,) in told[:-1]]


def test_a_cost_curve_is_measured_with_progress_and_kept(app, cache, monkeypatch):
    assert stream(app, "cost", {"seconds": 0, "pair": "storybook"}) == [{"share": 1, "said": "", "cost": None}]
    told = stream(app, "cost", {"seconds": 2.5, "cache_length": 16, "language": "zh"})
    shares = [part["share"] for part in told]
    assert shares == sorted(shares) and len(told) > 3 and all(0 <= share <= 1 for share in shares)
    assert [part["said"] for part in told][-2:] == [phrase("timing", "zh", name="storybook"), phrase("done", "zh")]
    cost = Cost.model_validate(told[-1]["cost"])
    assert (cost.pair, cost.cache_length, cost.device) == ("storybook", 16, "cpu") and cost.worth(60) > 1
    monkeypatch.setenv("TREEVIZ_CACHE", str(cache))
    assert load_cost("storybook") == cost
    assert stream(app, "cost", {"seconds": 0, "pair": "storybook"})[0]["cost"] == told[-1]["cost"]


def test_a_sweep_gives_the_table_and_the_best(app):
    told = stream(app, "sweep", SWEEP)
    assert all(set(part) == {"share", "said"} for part in told[:-1])
    table = told[-1]["sweep"]
    assert {(c["top_k"], c["depth"], c["total_tokens"]) for c in table["cells"]} == {
        (1, 0, 1), (1, 2, 1), (2, 0, 1), (2, 2, 1), (2, 2, 5)}
    assert table["best"] == table["tried"][0]
    assert sorted((run["prompt"], run["shape"] is None) for run in table["ran"]) == [
        (0, False), (0, True), (1, False), (1, True)]
    assert all(cell["speedup"] > 0 and 1 <= cell["tau_low"] <= cell["tau_high"] for cell in table["cells"])


@pytest.mark.parametrize("endpoint, changes, said", [
    ("cost", {"seconds": "x"}, 'seconds is "x"; give a number from 0 to 60.'),
    ("cost", {"seconds": 61}, "from 0 to 60"), ("cost", {"seconds": None}, "seconds is empty"),
    ("cost", {"cache_length": 0}, "from 1 to 2,048"), ("cost", {"pair": "gpt"}, "no pair"),
    ("cost", {"seconds": 1, "cache_length": 2048}, "the context of storybook"), ("cost", {"pair": {"a": 1}}, "no pair"),
    ("cost", {"draft_vocab": 10**6, "seconds": 1}, "the head of storybook ranks 2048"),
    ("sweep", {"prompts": "Once"}, "prompts is a list of 1 to 4 texts"),
    ("sweep", {"prompts": ["a"] * 5}, "1 to 4 texts"), ("sweep", {"prompts": [1]}, "The prompt is not text"),
    ("sweep", {"top_k": [17]}, "top_k is 17; give a number from 1 to 16"),
    ("sweep", {"depth": 3}, "depth is 3; give a list"), ("sweep", {"depth": []}, "depth is []; give a list of 1 to 12"),
    ("sweep", {"total_tokens": [1.5]}, "total_tokens is 1.5; give a whole number"), ("sweep", {"chat": 1}, "chat is 1"),
    ("sweep", {"total_tokens": [99]}, "nothing to sweep"), ("sweep", {"turns": 99}, "from 1 to 5"),
    ("sweep", {"language": {"a": 1}, "best": 0}, "best is 0"), ("sweep", {"prompts": [""]}, "The prompt is empty"),
])
def test_what_cannot_be_measured_is_a_sentence(app, endpoint, changes, said):
    answer = app.call(f"v2/{endpoint}", (SWEEP if endpoint == "sweep" else {}) | changes)
    assert said in answer["error"] and "\n" not in answer["error"]


def test_who_closes_the_stream_stops_it_and_the_next_one_is_served(app):
    _, _, text = app.ask("/gradio_api/call/v2/cost", {"seconds": 60})
    connection = http.client.HTTPConnection("127.0.0.1", app.port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", f"/gradio_api/call/cost/{json.loads(text)['event_id']}",
                           headers={"Host": f"localhost:{app.port}"})
        assert connection.getresponse().readline().startswith(b"event: generating")
    shares = [part["share"] for part in stream(app, "cost", {"seconds": 0.1})]
    assert shares[-1] == 1  # within the test's own time, which 60 seconds twice are not


def test_a_page_of_recorded_runs_refuses_in_the_readers_language(tmp_path):
    with served(tmp_path, *DEMO) as app:
        for language in LANGUAGES:
            assert app.call("v2/cost", {"language": language})["error"] == phrase("error.demo", language)
            assert app.call("v2/sweep", SWEEP | {"language": language})["error"] == phrase("error.demo", language)


# -- the engine -------------------------------------------------------------------------------------------------------

COST = {"what": "cost", "pair": "storybook", "seconds": 60, "cache_length": 8, "draft_vocab": 0}


@pytest.fixture(scope="module")
def engine():
    return Engine(Source("storybook", device="cpu"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TREEVIZ_CACHE", str(tmp_path))


def test_it_ends_where_it_is_over(engine, tmp_path):
    told = []
    for part in engine.measure(COST, lambda: len(told) > 3 and "cost" in told[-1]):
        told.append(part)
    assert told[-1]["share"] < 1 and not list(tmp_path.rglob("*.json")), "nothing is kept of what was stopped"


def test_parts_are_plain_data_and_a_failure_is_a_sentence(engine, monkeypatch, capsys):
    for part in engine.measure(COST | {"seconds": 0.1}, lambda: False):
        assert json.loads(json.dumps(part)) == part
    monkeypatch.setitem(measured.MEASUREMENTS, "cost", lambda *_: 1 / 0)
    with pytest.raises(UserError, match=r"broke off .*division by zero"):
        list(engine.measure(COST, lambda: False))
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_when_the_seconds_are_over_what_is_known_is_told(engine, monkeypatch):
    list(engine.measure(COST | {"seconds": 0.1}, lambda: False))  # a curve to begin with
    request = {"what": "sweep", "pair": "storybook", "prompts": SWEEP["prompts"], "chat": False,
               "grid": [[1, 2], [0, 1], [1, 4]], "max_new_tokens": 8, "draft_vocab": 0, "best": 1, "turns": 5,
               "seconds": 100}
    now = [0.0]
    monkeypatch.setattr(measured, "time", SimpleNamespace(monotonic=lambda: now[0]))
    told = []
    for part in engine.measure(request, lambda: False):
        told.append(part)
        if "Turn 2" in part.get("note", {}).get("en", ""):
            now[0] = 101.0
    assert 0 < len(told[-1]["sweep"]["ran"]) < 20 and told[-1]["sweep"]["cells"]
    assert list(engine.measure(request | {"seconds": -1}, lambda: False))[-1]["sweep"]["best"] is None
