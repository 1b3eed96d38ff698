"""The command line on real (small) checkpoints: what it prints and what it writes."""

import io
import json
import re
import sys

import pytest
import torch
from cli import FEW, IDS, PAIR, call, decode, refused, talking_pair
from toy_tokenizers import byte_level

from core import Trace
from core.cli.flags import config_of
from core.cli.main import main, parser
from core.errors import UserError
from core.measure.bench import read_prompts
from core.model.target import Target
from core.pairs.named import PAIRS

talking = pytest.fixture(scope="module", name="talking")(talking_pair)


def facts(path):
    """A trace without what differs from run to run."""
    document = Trace.load(path).to_dict()
    for part in (*document["rounds"], document["summary"]):
        part.pop("seconds")
    return document | {"created": ""}


# -- what a run prints and writes -------------------------------------------------------------------------------------


def test_check_says_lossless_and_the_summary_defines_its_numbers(capsys):
    out = decode(capsys, *PAIR, *IDS, *FEW, "--check")
    text, _, summary = out.partition("\n\n")
    assert re.fullmatch(r"(<\d+>){12}", text)
    assert "lossless: yes (12 tokens equal to plain greedy decoding of the same target)" in summary
    assert "12 new tokens in" in summary and "tau" in summary and "= mean accepted drafted tokens + 1" in summary
    assert "top_k 4, depth 3" in summary and "ended by length" in summary and "new tokens/s" in summary


def test_without_check_nothing_is_claimed(capsys):
    assert "lossless: not checked" in decode(capsys, *PAIR, *IDS, *FEW)


def test_quiet_prints_the_text_only(capsys):
    loud = decode(capsys, *PAIR, *IDS, *FEW)
    assert decode(capsys, *PAIR, *IDS, *FEW, "--quiet") == loud.partition("\n\n")[0] + "\n"


def test_total_tokens_left_out_takes_what_there_is(capsys, tmp_path):
    decode(capsys, *PAIR, *IDS, "--max-new-tokens", "6", "--top-k", "2", "--depth", "1", "--trace", tmp_path / "a.json")
    assert Trace.load(tmp_path / "a.json").config["total_tokens"] == 6
    decode(capsys, *PAIR, *IDS, "--max-new-tokens", "6", "--trace", tmp_path / "b.json")
    assert Trace.load(tmp_path / "b.json").config["total_tokens"] == 59


def on_a_terminal(monkeypatch, **environment):
    for name, value in {"NO_COLOR": "", "TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)


def test_colour_on_a_terminal_tells_drafted_from_bonus(capsys, monkeypatch, tmp_path):
    plain = decode(capsys, *PAIR, *IDS, *FEW, "--quiet", "--trace", tmp_path / "t.json")
    on_a_terminal(monkeypatch)
    coloured = decode(capsys, *PAIR, *IDS, *FEW, "--quiet")
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    trace = Trace.load(tmp_path / "t.json")
    own = [trace.rounds[0].root, *(r.accept.bonus for r in trace.rounds)]
    assert trace.output.token_ids[-1] not in own[-1:]  # the last round's bonus came after the end
    assert re.findall(r"\x1b\[33;1m<(\d+)>", coloured) == [str(token) for token in own[:-1]]
    assert coloured.count("\x1b[32m") == sum(r.accept.length > 0 for r in trace.rounds)


def test_no_colour_where_it_is_not_wanted(capsys, monkeypatch):
    assert "\x1b" not in decode(capsys, *PAIR, *IDS, *FEW)  # not a terminal
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        on_a_terminal(monkeypatch, **environment)
        assert "\x1b" not in decode(capsys, *PAIR, *IDS, *FEW)


def test_the_spellings_of_a_trace_are_equal(capsys, tmp_path):
    for name in ("t.json", "t.json.gz", "t.jsonl"):
        decode(capsys, *PAIR, *IDS, *FEW, "--trace", tmp_path / name)
    assert (tmp_path / "t.json.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert (tmp_path / "t.jsonl").read_text().count("\n") == len(Trace.load(tmp_path / "t.json").rounds) + 2
    assert facts(tmp_path / "t.json") == facts(tmp_path / "t.json.gz") == facts(tmp_path / "t.jsonl")
    assert facts(tmp_path / "t.json")["check"]["lossless"] is None
    decode(capsys, *PAIR, *IDS, *FEW, "--check", "--trace", tmp_path / "t.jsonl")
    assert facts(tmp_path / "t.jsonl")["check"]["lossless"] is True  # the check comes after the lines were written
    assert {p.name for p in tmp_path.iterdir()} == {"t.json", "t.json.gz", "t.jsonl"}  # nothing left beside them


def test_a_seed_repeats_a_sampled_run(capsys, tmp_path):
    hot = [*PAIR, *IDS, *FEW, "--temperature", "1", "--quiet"]
    outs = [decode(capsys, *hot, "--seed", seed) for seed in (1, 1, 2)]
    assert outs[0] == outs[1] != outs[2]
    out = decode(capsys, *PAIR, *IDS, *FEW, "--temperature", "1", "--check")
    assert "lossless: not checked (sampled" in out


def test_stop_ids_end_the_output(capsys, tmp_path):
    decode(capsys, *PAIR, *IDS, *FEW, "--trace", tmp_path / "free.json")
    free = Trace.load(tmp_path / "free.json").output.token_ids
    stop = free[4]
    out = decode(capsys, *PAIR, *IDS, *FEW, "--stop-ids", f"0,{stop}", "--check", "--trace", tmp_path / "stopped.json")
    output = Trace.load(tmp_path / "stopped.json").output
    assert output.token_ids == free[: free.index(stop) + 1] and output.finish_reason == "stop"
    assert "ended by stop" in out and "lossless: yes" in out


def test_a_run_that_meets_the_context(capsys, talking, tmp_path):
    ids = ",".join(["5"] * 240)
    out = decode(capsys, *talking, "--ids", ids, "--trace", tmp_path / "t.json", "--check")
    assert "ended by context" in out and "lossless: yes" in out
    assert len(Trace.load(tmp_path / "t.json").output.token_ids) <= 16


def test_text_and_chat_become_ids(capsys, talking, tmp_path):
    tokenizer = byte_level()
    decode(capsys, *talking, *FEW, "--prompt", "the cat 😀", "--trace", tmp_path / "t.json")
    prompt = Trace.load(tmp_path / "t.json").prompt
    assert prompt.text == "the cat 😀" and prompt.token_ids == tokenizer("the cat 😀")["input_ids"]
    (tmp_path / "prompt.txt").write_bytes("\ufeffthe cat 😀".encode())  # some editors put a mark in front
    decode(capsys, *talking, *FEW, "--prompt-file", tmp_path / "prompt.txt", "--trace", tmp_path / "t.json")
    assert Trace.load(tmp_path / "t.json").prompt == prompt
    decode(capsys, *talking, *FEW, "--chat", "--prompt", "the cat", "--trace", tmp_path / "t.json")
    chat = Trace.load(tmp_path / "t.json").prompt.token_ids
    assert chat == [1, *tokenizer("the cat")["input_ids"], 0]  # <|user|>the cat<|end|>
    assert Trace.load(tmp_path / "t.json").prompt.text == "the cat"


def test_a_terminal_that_cannot_show_the_text(talking, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    monkeypatch.setattr(Target, "verify", forcing("é", Target.verify))
    assert main(["run", *talking, *FEW, "--prompt", "the", "--quiet"]) == 0
    assert b"?" in raw.getvalue()


def forcing(text, verify):
    """A target that says the bytes of `text` over and over from its second word on (and the head's guesses fail)."""
    ids = byte_level()(text)["input_ids"]

    def forced(self, tree, cache):
        logits, features = verify(self, tree, cache)
        last = int(tree.token[0])
        following = ids[(ids.index(last) + 1) % len(ids)] if last in ids else ids[0]
        return torch.nn.functional.one_hot(torch.full((len(logits),), following), logits.shape[1]).float(), features

    return forced


def test_text_streams_whole_characters(capsys, talking, monkeypatch, tmp_path):
    monkeypatch.setattr(Target, "verify", forcing("😀", Target.verify))
    out = decode(capsys, *talking, "--max-new-tokens", "20", "--prompt", "the", "--trace", tmp_path / "t.jsonl", "--quiet")
    assert "😀😀" in out and out == Trace.load(tmp_path / "t.jsonl").output.text + "\n"


def test_a_run_that_is_not_lossless_says_so_and_exits_1(capsys, monkeypatch, tmp_path):
    import core.measure.check
    honest = core.measure.check.steps

    def wrong(*args, **more):
        for place, (logits, token) in enumerate(honest(*args, **more)):
            yield logits, (token + 1) % 256 if place == 3 else token

    monkeypatch.setattr(core.measure.check, "steps", wrong)
    code, out, err = call(capsys, "run", *PAIR, *IDS, *FEW, "--check", "--trace", tmp_path / "t.json")
    assert code == 1 and err == "" and "lossless: NO (token 3: plain decoding chose" in out
    check = Trace.load(tmp_path / "t.json").check
    assert check.lossless is False and check.first_difference == 3 and check.note.count("logit") == 2
    code, out, _ = call(capsys, "run", *PAIR, *IDS, *FEW, "--check", "--dtype", "bfloat16")
    assert code == 1 and "apart, a near-tie in bfloat16 arithmetic" in out  # expected there, and told
    for flags in ([], ["--dtype", "bfloat16"]):
        code, out, err = call(capsys, "run", *PAIR, *IDS, *FEW, "--check", "--quiet", *flags)
        assert code == 1 and err.startswith("not lossless: token 3: plain decoding chose") and err.count("\n") == 1
        assert "lossless" not in out


def test_a_check_that_cannot_be_made_is_not_silent(capsys):
    quiet = [*PAIR, *IDS, *FEW, "--check", "--quiet"]
    assert call(capsys, "run", *quiet, "--temperature", "1")[::2] == (
        0, "lossless was not checked: sampled: the distribution is the target's, one run cannot show it\n")
    assert call(capsys, "run", *quiet)[::2] == (0, "")


def test_a_large_tree_says_what_it_costs(capsys):
    code, _, err = call(capsys, "run", *PAIR, *IDS, "--top-k", "100", "--depth", "1", "--max-new-tokens", "2")
    assert code == 0 and err == (
        "A round scores 10,100 candidates, some 0.4 MB of trace and 2 MB of memory; a smaller tree costs less.\n")


# -- show and check-trace ---------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(capsys, tmp_path):
    decode(capsys, *PAIR, *IDS, *FEW, "--trace", tmp_path / "run.jsonl")
    return tmp_path / "run.jsonl"


def test_show_prints_the_round(capsys, recorded):
    code, out, err = call(capsys, "show", recorded, "--round", "1")
    trace = Trace.load(recorded)
    r = trace.rounds[0]
    assert code == 0 and err == ""
    assert f"Round 1 of {len(trace.rounds)}" in out and f"root '<{r.root}>'" in out
    assert f"Accepted {r.accept.length}:" in out and f"Bonus '<{r.accept.bonus}>'" in out


def test_show_of_a_round_that_is_not_there(capsys, recorded):
    refused(capsys, ["show", recorded, "--round", "99"], "no round 99", "rounds 1 to")
    refused(capsys, ["show", recorded, "--round=-1"], "no round -1")
    refused(capsys, ["show", recorded.parent / "nothing.json"], "nothing.json", "Cannot read")


def test_check_trace_exit_codes(capsys, recorded, tmp_path):
    code, out, err = call(capsys, "check-trace", recorded)
    assert code == 0 and "is a sound trace" in out and "12 new tokens" in out and err == ""
    damaged = tmp_path / "damaged.json"
    damaged.write_text(json.dumps(Trace.load(recorded).to_dict() | {"output": None}))
    for path, word in ((damaged, "output"), (tmp_path / "missing.json", "missing.json"), (tmp_path, "Cannot read")):
        code, out, err = call(capsys, "check-trace", path)
        assert code == 1 and word in out and out.count("\n") == 1 and out.endswith(".\n") and err == ""


@pytest.mark.parametrize("share", [0.3, 0.6, 0.99])
def test_a_jsonl_whose_writer_was_killed_loads_as_cancelled(capsys, recorded, share):
    whole = Trace.load(recorded)
    data = recorded.read_bytes()
    recorded.write_bytes(data[: int(len(data) * share)])
    cut = Trace.load(recorded)
    assert cut.output.finish_reason == "cancelled" and cut.rounds == whole.rounds[: len(cut.rounds)]
    assert cut.output.token_ids == whole.output.token_ids[: len(cut.output.token_ids)]
    assert call(capsys, "check-trace", recorded)[0] == 0


# -- bench ------------------------------------------------------------------------------------------------------------


def test_bench_reports_from_one_run(capsys, talking, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"turns": ["the cat", "more"]}\n\n{"prompt": "there\u2028is"}\n{"text": "theory"}\n', encoding="utf-8")
    code, out, err = call(capsys, "bench", *talking, "--prompts", prompts, "--limit", "2", "--max-new-tokens", "6",
                          "--top-k", "3", "--depth", "2")
    assert code == 0 and err == ""
    for line in ("2 prompts", "plain:", "eagle2:", "generate:", "tau ", "share of a round's time: draft", "tree building",
                 "recording costs", "lossless on 2 of 2 prompts"):
        assert line in out
    code, out, _ = call(capsys, "bench", *talking, "--limit", "1", "--max-new-tokens", "4", "--skip-generate", "--no-chat")
    assert code == 0 and "generate:" not in out


SETS = [{"turns": ["Why?", "And then?"], "prompt": "not this"}, {"prompt": "the cat\u2028sat\u0085on"}, {"prompt": ["first", "second"]},
        {"question": "2+2?", "answer": "4"}, {"instruction": "Say hi", "input": "", "output": "hi", "text": "all of it"},
        {"instruction": "Add", "input": "1, 2", "output": "3"}, {"text": "In the garden"}, {"prompt": None, "text": " a"}, "as it is"]
ASKED = ["Why?", "the cat\u2028sat\u0085on", "first", "2+2?", "Say hi", "Add\n\n1, 2", "In the garden", " a", "as it is"]


@pytest.mark.parametrize("mark, kind", [("", "utf-8"), ("\ufeff", "utf-8"), ("\ufeff", "utf-16-le"), ("\ufeff", "utf-16-be")])
@pytest.mark.parametrize("spell", [
    lambda lines: "\n".join(lines), lambda lines: "\r\n\r\n".join(lines) + "\r\n", lambda lines: f"[{', '.join(lines)}]",
    lambda lines: "\n[\n" + ",\n".join(lines) + "\n]\n"], ids=["lines", "blank lines", "array", "array over lines"])
def test_bench_reads_the_common_sets_of_questions(tmp_path, mark, kind, spell):
    path = tmp_path / "questions"
    path.write_bytes((mark + spell([json.dumps(record, ensure_ascii=False) for record in SETS])).encode(kind))
    assert read_prompts(path) == ASKED


def test_bench_says_what_it_leaves_out_and_which_prompt_is_too_long(capsys, talking, tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "the"}\n' * 10)
    code, out, _ = call(capsys, "bench", *talking, "--prompts", path, "--max-new-tokens", "1", "--skip-generate")
    assert code == 0 and out.startswith("The first 8 of 10 prompts are taken (--limit).\n") and ", 8 prompts" in out
    path.write_text('{"prompt": "the"}\n' + json.dumps({"prompt": "the " * 400}))
    assert refused(capsys, ["bench", *talking, "--prompts", path], "Prompt 2 cannot be decoded", "shorten the prompt") == ""


def test_presets_and_what_overrides_them():
    def settings(*flags):
        args = parser().parse_args(["run", "--prompt", "x", *flags])
        config = config_of(args)
        return config.top_k, config.depth, config.total_tokens, config.draft_vocab

    assert settings() == (10, 5, 59, 0)
    assert settings("--top-k", "2", "--depth", "1") == (2, 1, 6, 0), "no more than there are candidates"
    small = PAIRS["smollm2-135m"].cpu
    assert settings("--preset", "cpu") == (small["top_k"], small["depth"], small["total_tokens"], small["draft_vocab"])
    assert settings("--preset", "cpu", "--draft-vocab", "0")[3] == 0
    with pytest.raises(UserError, match="no settings for a CPU"):
        settings("--preset", "cpu", "--pair", "vicuna-7b")
    with pytest.raises(UserError, match="no settings for a CPU"):
        settings("--preset", "cpu", "--target", "a", "--draft", "b")
