"""Rules of a generation config that change greedy text: what transformers' `generate` follows and we leave out is said."""

import json
import warnings

import pytest
import torch
from cli import call
from pair_files import copy_of_head, copy_of_target, edit, whole_pair
from transformers import LlamaForCausalLM

from core import DecodeConfig, Trace, decode, load_pair, stream
from core.errors import PairWarning
from core.measure.bench import _transformers
from core.measure.check import check
from core.trace.events import CacheCommitted, TraceBuilder
from core.trace.show import summary_lines

PROMPT, END = [5, 6, 7, 8], 36  # the seventh token that the target writes after it
SMALL = DecodeConfig(top_k=4, depth=2, total_tokens=12, max_new_tokens=7)
RULES = {  # each with a value that changes this target's text
    "repetition_penalty": 1.9, "no_repeat_ngram_size": 1, "bad_words_ids": [[94]], "min_length": 11, "min_new_tokens": 7,
    "forced_eos_token_id": 9, "exponential_decay_length_penalty": [1, 5.0], "suppress_tokens": [25],
    "begin_suppress_tokens": [25], "sequence_bias": [[[25], -100.0]], "guidance_scale": 3.0,
    "encoder_repetition_penalty": 5.0, "encoder_no_repeat_ngram_size": 1, "watermarking_config": {"bias": 10.0},
    "num_beams": 4, "max_time": 1e-9, "forced_bos_token_id": 9,
}
NO_RULES = {
    "do_sample": True, "temperature": 0.3, "top_p": 0.1, "top_k": 1, "typical_p": 0.2, "min_p": 0.9, "max_length": 8,
    "max_new_tokens": 3, "length_penalty": 3.0, "early_stopping": True, "renormalize_logits": True, "use_cache": False,
    "repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "min_length": 0, "num_beams": 1, "suppress_tokens": [],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return whole_pair(tmp_path_factory)


@pytest.fixture
def target(whole, tmp_path):
    return copy_of_target(whole, tmp_path)


@pytest.fixture
def head(whole, tmp_path):
    return copy_of_head(whole, tmp_path)


def ask(target, where="generation_config.json", **rules):
    (target / "generation_config.json").unlink(missing_ok=True)
    edit(target, where, eos_token_id=END, **rules)


def truth(target, prompt):
    model = LlamaForCausalLM.from_pretrained(target, dtype=torch.float32).eval()
    ids = torch.tensor([prompt])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=7, pad_token_id=0)
    return out[0, len(prompt):].tolist()


def loaded(target, head):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairWarning)
        return load_pair(target, head, device="cpu")


@pytest.mark.parametrize("where", ["generation_config.json", "config.json"])
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_changes_the_text_is_said(rule, where, target, head):
    prompt = [5] if rule == "forced_bos_token_id" else PROMPT
    ask(target, where, **{rule: RULES[rule]})
    pair = loaded(target, head)
    assert truth(target, prompt) != decode(pair, prompt, SMALL).output.token_ids, "the test's value changes nothing"
    value = f" {RULES[rule]}" if type(RULES[rule]) in (int, float) else ""
    assert pair.left_out == (rule + value,)
    assert pair.notes == (f"The target's generation config asks for {rule}{value}, which is not applied here, so "
                          "transformers' generate may write another text.",)


@pytest.mark.parametrize("name", NO_RULES)
def test_what_changes_no_greedy_text_is_not_spoken_of(name, target, head):
    ask(target, **{name: NO_RULES[name]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", PairWarning)
        pair = load_pair(target, head, device="cpu")
    assert pair.notes == pair.left_out == ()
    assert truth(target, PROMPT) == decode(pair, PROMPT, SMALL).output.token_ids
    assert check(pair, PROMPT, SMALL, truth(target, PROMPT))["note"].endswith("plain greedy decoding of the same target")


def test_rules_that_generate_refuses_without_more_are_said_too(target, head):
    asked = {"stop_strings": ["a\x1b[2J"], "penalty_alpha": 0.6, "token_healing": True, "dola_layers": "high"}
    ask(target, **asked)
    assert loaded(target, head).left_out == ("penalty_alpha 0.6", "stop_strings", "token_healing", "dola_layers")


def test_a_trace_says_what_was_left_out_however_its_run_ended(target, head):
    ask(target, repetition_penalty=1.9, suppress_tokens=[25])
    with pytest.warns(PairWarning, match="asks for repetition_penalty 1.9, suppress_tokens, which"):
        pair = load_pair(target, head, device="cpu")
    said = "; not applied: repetition_penalty 1.9, suppress_tokens (generation config)"
    trace = decode(pair, PROMPT, SMALL)
    assert trace.check.note == "not compared with plain decoding" + said
    assert Trace.from_text(trace.to_lines()).check == trace.check and said in "\n".join(summary_lines(trace))
    ids = trace.output.token_ids
    for config, given in ((SMALL, ids), (SMALL, ids[:-1]), (SMALL, []), (DecodeConfig(temperature=1.0), ids)):
        assert check(pair, PROMPT, config, given)["note"].endswith(said)
    builder, events = TraceBuilder(), stream(pair, PROMPT, SMALL)
    for event in events:
        builder.add(event)
        if isinstance(event, CacheCommitted):
            break
    events.close()
    assert json.loads(builder.cancel())["check"] == builder.document["check"]
    assert builder.trace.check.note == "not compared with plain decoding" + said


def test_the_command_and_the_page_say_it(target, head, capsys, tmp_path):
    from treeviz.page.choices import Source
    from treeviz.page.live import Engine
    ask(target, repetition_penalty=1.9)
    sentence = loaded(target, head).notes[0]
    flags = ["run", "--target", target, "--draft", head, "--device", "cpu", "--ids", "5,6,7,8", "--max-new-tokens", "4",
             "--check", "--trace", tmp_path / "run.json"]
    code, out, err = call(capsys, *flags, "--quiet")
    assert code == 0 and err == f"note: {sentence}\n" and "lossless" not in out
    code, out, err = call(capsys, *flags)
    assert "lossless: yes" in out and "not applied: repetition_penalty 1.9 (generation config)" in out
    assert Trace.load(tmp_path / "run.json").check.note in out
    engine = Engine(Source(None, str(target), str(head), "cpu"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairWarning)
        list(engine.load(engine.source.name))
    assert engine.notes(engine.source.name) == sentence


def test_the_bench_measures_generate_without_the_rules(target, head):
    ask(target, stop_strings=["a"], num_beams=4, suppress_tokens=[25])  # generate would refuse the first, and beams are slow
    pair = loaded(target, head)
    assert _transformers(pair, PROMPT, SMALL)[0] == decode(pair, PROMPT, SMALL).output.token_ids
    assert pair.target.model.generation_config.num_beams == 4


def test_a_cache_that_rounds_is_said(target, head):
    """generate itself wants a package for it that few have."""
    ask(target, cache_implementation="quantized")
    assert loaded(target, head).left_out == ("cache_implementation quantized",)
