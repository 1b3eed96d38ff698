"""What a terminal shows while a long prompt is read, a run is checked, a bench measures: a line that is gone afterwards."""

import sys

import pytest
from cli import FEW, PAIR, call
from test_cli_stopped import interrupting

from core import Trace
from core.cli.flags import clear_line, progress_line
from core.model import target
from core.model.target import Target

LONG = ["--ids", ",".join(["1", *(str((5 + 7 * i) % 97) for i in range(40))])]


@pytest.fixture
def terminal(capsys, monkeypatch):
    """stdout and stderr are a terminal, and a prompt is read ten tokens at a time."""
    monkeypatch.setattr(target, "PIECE", 10)
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True)


def moments(written):
    """What stands in the line after each time that it is written anew."""
    return [part.strip() for part in written.split("\r") if part.strip()]


def screen(written):
    """What a terminal shows in the end: a carriage return goes back, and what comes after writes over what stood."""
    lines = []
    for line in written.split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part):]
        lines.append(shown.rstrip())
    return "\n".join(lines)


def test_a_run_says_how_far_its_prompt_is_read_and_its_check(capsys, terminal):
    code, _, err = call(capsys, "run", *PAIR, *LONG, *FEW, "--check")
    told = moments(err)
    assert code == 0 and screen(err) == "" and "\x1b" not in err
    assert told[:4] == [f"Reading the prompt: {n} of 41 tokens" for n in (9, 18, 27, 36)]
    assert told[4:8] == [f"Reading the prompt again, plainly: {n} of 41 tokens" for n in (9, 18, 27, 36)]
    assert told[8:] == [f"Comparing with plain decoding: {n} of 12 tokens" for n in range(12)]


def test_what_is_no_terminal_gets_no_progress(capsys, monkeypatch):
    monkeypatch.setattr(target, "PIECE", 10)
    assert call(capsys, "run", *PAIR, *LONG, *FEW, "--check")[2] == ""


@pytest.mark.parametrize("name", ["run.json", "run.jsonl"])
def test_ctrl_c_while_a_long_prompt_is_read(capsys, monkeypatch, terminal, tmp_path, name):
    monkeypatch.setattr(Target, "read", interrupting(Target.read, 3))
    code, _, err = call(capsys, "run", *PAIR, *LONG, *FEW, "--trace", tmp_path / name)
    assert code == 130 and moments(err)[:2] == [f"Reading the prompt: {n} of 41 tokens" for n in (9, 18)]
    assert screen(err) == "stopped; the run so far is marked cancelled\n"
    trace = Trace.load(tmp_path / name)
    assert not trace.rounds and trace.output.finish_reason == "cancelled" and len(trace.prompt.token_ids) == 41


def test_a_sentence_takes_the_place_of_the_line(capsys, monkeypatch, terminal):
    def full(*_):
        raise MemoryError

    monkeypatch.setattr(Target, "verify", full)
    code, _, err = call(capsys, "run", *PAIR, *LONG, *FEW)
    assert code == 2 and len(moments(err)) > 4 and screen(err).startswith("error: The memory of cpu ran out")


def test_a_bench_says_what_it_measures(capsys, terminal, tmp_path):
    prompts = tmp_path / "two.jsonl"
    prompts.write_text('{"prompt": "a b c"}\n{"prompt": "d e"}\n')
    storybook = ["--pair", "storybook", "--prompts", prompts, "--max-new-tokens", "4", "--top-k", "2", "--depth", "1"]
    code, out, err = call(capsys, "bench", *storybook, "--skip-generate")
    told = moments(err.removeprefix("Loading storybook\n"))
    assert code == 0 and "prompt 2: " in out and screen(err) == "Loading storybook\n"
    ways = ("plain", "eagle2", "recorded")
    assert told == [f"{what}: {way}" for what in ("Warming up", "Prompt 1 of 2", "Prompt 2 of 2") for way in ways]


def test_a_line_that_is_whole_stays(capsys, terminal):
    for fraction in (0.1, 0.55, 1):
        progress_line(f"Fetching a file: {fraction:.0%}", fraction)
    progress_line("Nearly", 0.9)
    clear_line()
    print("next", file=sys.stderr)
    assert screen(capsys.readouterr().err) == "Fetching a file: 100%\nnext\n"
