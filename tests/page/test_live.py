"""The engine behind the page: what a run tells, where it can be broken off, which pairs stay in memory."""

import json
import re
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from core.errors import UserError
from core.model import target
from treeviz.page.choices import Source, request_of
from treeviz.page.live import Engine
from treeviz.page.watched import Reading
from treeviz.story.labels import show
from treeviz.story.lines import trace_of

PATIENCE = 60  # seconds that a test waits for what must happen


@pytest.fixture(scope="module")
def engine():
    engine = Engine(Source("storybook", device="cpu"))
    said = next(iter(list(engine.load("storybook"))))
    assert said.items() >= {"en": "Loading storybook.", "zh": "正在载入 storybook。"}.items()
    assert list(engine.load("storybook")) == []
    return engine


def never():
    return False


def ask(prompt="Once upon a time", compare=False, **numbers):
    settings = {"top_k": 3, "depth": 2, "total_tokens": 6, "max_new_tokens": 12} | numbers
    return request_of("storybook", prompt, False, settings, compare=compare)


def layers(engine):
    return engine._pairs["storybook"].pair.target.model.model.layers


@contextmanager
def hooked(layer, work):
    def hook(*_):
        work()  # what a hook returns would replace the layer's input

    handle = layer.register_forward_pre_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def test_a_run_tells_its_rounds_as_they_come(engine):
    updates = list(engine.run(ask(), never))
    assert re.fullmatch(r"Reading the prompt \(\d+ tokens\)\.", updates[0].note["en"])
    assert re.fullmatch(r"正在读提示（\d+ 个词元）。", updates[0].note["zh"])
    trace = trace_of("".join(update.lines for update in updates))
    begun = [update.note is not None and "begins with" in update.note["en"] for update in updates]
    assert begun.index(True) < next(i for i, update in enumerate(updates) if update.lines), "the first token is out first"
    assert f"“{show(trace.token(trace.output.token_ids[0]))}”" in updates[begun.index(True)].note["zh"]
    assert [update.lines.count("\n") for update in updates if update.lines] == [2] + [1] * trace.summary.rounds, \
        "the header comes with the first round, then a line at a time"
    assert trace.summary.new_tokens == 12 and trace.output.finish_reason == "length"
    assert trace.to_dict()["output"] == engine.trace(ask(), never)["output"]


def test_a_greedy_run_is_compared_with_plain_decoding(engine):
    """The run is whole before that begins; plain decoding's moments come as they are, and then what was found."""
    updates = list(engine.run(ask(compare=True, max_new_tokens=40), never))
    whole = next(i for i, update in enumerate(updates) if '"finish_reason"' in update.lines)
    assert trace_of("".join(update.lines for update in updates[:whole + 1])).check.lossless is None
    clock = [t for update in updates for line in update.lines.splitlines() for t in json.loads(line)["page"].get("plain", [])]
    trace = trace_of("".join(update.lines for update in updates))
    assert trace.check.lossless and trace.check.tokens == 40 == len(clock) and trace.check.clock == clock == sorted(clock)
    notes = [update.note["en"] for update in updates[whole:] if update.note]
    assert "Comparing with plain decoding: 40 of 40 tokens." in notes[-1]
    told = engine.trace(ask(compare=True), never)["check"]
    assert told["lossless"] and told["tokens"] == 12
    assert engine.trace(ask(compare=True, temperature=1.0), never)["check"]["lossless"] is None


def test_a_comparison_can_be_stopped_and_the_run_stays(engine):
    stop, lines = threading.Event(), ""
    for update in engine.run(ask(compare=True, max_new_tokens=300), stop.is_set):
        lines += update.lines
        if '"plain"' in update.lines:
            stop.set()
    trace = trace_of(lines)
    assert trace.summary.new_tokens == 300 and trace.output.finish_reason == "length" and trace.check.lossless is None


def test_stop_between_rounds_keeps_them_and_says_cancelled(engine):
    stop, last = threading.Event(), ""
    for update in engine.run(ask(max_new_tokens=200), stop.is_set):
        last += update.lines
        if last:
            stop.set()
    trace = trace_of(last)
    assert trace.output.finish_reason == "cancelled" and 0 < trace.summary.new_tokens < 200
    assert '"cancelled"' in last.rstrip("\n").rpartition("\n")[2], "the last line says so itself"


def test_stop_breaks_off_a_pass_between_two_layers(engine):
    stop, reached = threading.Event(), []

    def first():
        stop.set()
        reading = engine._pairs["storybook"]._here.reading
        for _ in range(PATIENCE * 20):  # until the run has heard of it
            if reading.stopped:
                break
            threading.Event().wait(0.05)
        assert reading.stopped

    with hooked(layers(engine)[0], first), hooked(layers(engine)[1], lambda: reached.append(1)):
        updates = list(engine.run(ask(), stop.is_set))
    assert stop.is_set() and not reached, "the second layer was never reached"
    assert not any(update.lines for update in updates), "the run on the page stays"
    lines = "".join(update.lines for update in engine.run(ask(), never))
    assert trace_of(lines).summary.new_tokens == 12, "and the next run runs"


def test_what_is_stopped_is_one_run_not_the_pair(engine):
    """The line lets one run in at a time; should two be in, the end of one is not felt by the other."""
    first, second = engine.run(ask(max_new_tokens=40), never), engine.run(ask(max_new_tokens=12), never)
    told = [next(second).lines, next(second).lines]
    while not next(first).lines:
        pass
    first.close()
    assert trace_of("".join([*told, *(update.lines for update in second)])).summary.new_tokens == 12


def test_a_long_prompt_says_how_far_it_is(engine):
    heard = threading.Event()
    with hooked(layers(engine)[1], lambda: heard.wait(PATIENCE)):
        for update in engine.run(ask("a story " * 50), never):
            if update.note and "%" in update.note["en"]:
                share = f"{1 / len(layers(engine)):.0%}"
                assert update.note["en"].endswith(f" tokens): {share}.") and update.note["zh"].endswith(f"）：{share}。")
                heard.set()
    assert heard.is_set()


def test_how_far_a_prompt_is_read_counts_over_all_its_pieces_and_stop_works_between_them(engine, monkeypatch):
    monkeypatch.setattr(target, "PIECE", 16)
    seen, reached, notes, going, stop = [], [], [], threading.Event(), threading.Event()

    def wait():
        going.clear()
        assert going.wait(PATIENCE)
        for _ in range(PATIENCE * 20 * stop.is_set()):  # until the run has heard of it
            if engine._pairs["storybook"]._here.reading.stopped:
                break
            threading.Event().wait(0.05)

    with hooked(layers(engine)[1], wait), hooked(layers(engine)[2], lambda: reached.append(1)):
        for update in engine.run(ask("a story " * 31), stop.is_set):  # 63 tokens, four pieces
            assert not update.lines
            if "%" in update.note["en"] and notes[-1] == update.note and not going.is_set():  # said again: it stands
                seen.append(update.note["en"].rpartition(": ")[2])
                if len(seen) == 3:
                    stop.set()
                going.set()
            notes.append(update.note)
    count = len(layers(engine))
    assert seen == [f"{(count * piece + 1) / (4 * count):.0%}." for piece in range(3)] and len(reached) == 2


def test_a_run_that_nobody_hears_gives_no_trace(engine):
    with pytest.raises(UserError, match="Nobody listens"):
        engine.trace(ask(), lambda: True)


def test_a_failure_keeps_what_was_decoded_and_is_a_sentence(engine, capsys):
    passes = []

    def fail():
        passes.append(1)
        if len(passes) == 4:
            raise RuntimeError("out of luck")

    last = ""
    with hooked(layers(engine)[0], fail), pytest.raises(UserError, match=r"broke off .*out of luck"):
        for update in engine.run(ask(max_new_tokens=50), never):
            last += update.lines
    assert trace_of(last).summary.rounds == 2 and "RuntimeError" in capsys.readouterr().err
    with pytest.raises(UserError, match="prompt is empty"):
        list(engine.run(ask(""), never))


def test_memory_that_runs_out_keeps_what_was_decoded_without_a_traceback(engine, capfd):
    passes = []

    def fail():
        passes.append(1)
        if len(passes) == 4:
            raise MemoryError

    last = ""
    with hooked(layers(engine)[0], fail), pytest.raises(UserError, match=r"memory of cpu ran out .*max_new_tokens [(]50[)]"):
        for update in engine.run(ask(max_new_tokens=50), never):
            last += update.lines
    assert trace_of(last).summary.rounds == 2 and capfd.readouterr().err == ""
    with hooked(layers(engine)[0], lambda: 1 / 0), pytest.raises(UserError, match="broke off"):
        list(engine.run(ask(), never))


def test_parts_are_plain_data(engine):
    for part in engine._decode(json.loads(json.dumps(ask()))):
        assert json.loads(json.dumps(part)) == part


def fake_pair(engine, monkeypatch):
    target = SimpleNamespace(layers=0, model=SimpleNamespace(model=SimpleNamespace(layers=[])))
    monkeypatch.setattr(engine, "_fetch", lambda name, progress: SimpleNamespace(name=name, target=target))


def test_the_last_two_pairs_stay_and_a_large_one_is_alone(monkeypatch):
    engine = Engine(Source("smollm2-135m"))
    fake_pair(engine, monkeypatch)
    for name in ("smollm2-135m", "storybook", "smollm2-135m", "mine"):
        list(engine.load(name))
    assert [name for name in ("smollm2-135m", "storybook", "mine") if engine.loaded(name)] == ["smollm2-135m", "mine"]
    list(engine.load("vicuna-7b"))
    assert engine.loaded("vicuna-7b") and not engine.loaded("mine")
    list(engine.load("storybook"))
    assert engine.loaded("storybook") and not engine.loaded("vicuna-7b")


def test_a_pair_that_does_not_load_is_a_sentence(monkeypatch):
    engine = Engine(Source("storybook"))
    monkeypatch.setattr(engine, "_fetch", lambda name, progress: 1 / 0)
    with pytest.raises(UserError, match=r"could not be loaded \(division by zero\)"):
        list(engine.run(ask(), never))
    assert not engine.loaded("storybook")


def test_only_offered_pairs(engine):
    assert engine.offered("") == "storybook"
    with pytest.raises(UserError, match='no pair "gpt" here; there is storybook'):
        engine.offered("gpt")
    for odd, shown in (({"en": "storybook"}, r'{"en": "storybook"}'), (["storybook"], r'["storybook"]'), (None, "null"), (0, "0"),
                       ("x" * 99, '"' + "x" * 38 + "…"), ("\n", r'"\n"')):
        with pytest.raises(UserError) as error:
            engine.offered(odd)
        assert str(error.value).startswith(f"There is no pair {shown} here; there is storybook")


def test_a_run_has_read_its_prompt_after_the_first_pass():
    reading, shares = Reading(iter(()), 4, threading.local()), []
    for _ in range(5):  # the last pass is the next one's
        shares.append(reading.share)
        reading.between()
    assert shares == [0, 0, 0.25, 0.5, 0.75] and reading.share is None
