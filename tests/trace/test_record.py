"""What the recorder writes: of a row of logits, of a round's seconds, of what a policy did."""

import dataclasses
import shutil
from types import SimpleNamespace

import pytest
import torch
import transformers
from pair_files import edit_tensors
from pair_maker import GOLDEN, make_head, make_target
from toy_tokenizers import byte_level
from transformers import AutoModelForCausalLM

from core import DecodeConfig, Trace, decode, decoder, fold, load_pair, stream
from core.errors import PairWarning
from core.model import target as target_module
from core.model.cache import KVCache
from core.model.head import Drafter
from core.model.target import Target
from core.policies.chain import Chain
from core.trace.events import CacheCommitted, PromptRead, RootDecided
from core.trace.record import _chosen_first, _top
from core.version import __version__

PROMPT = [1, 115, 57, 198, 43]
TREE, CHAIN, PLAIN = dict(top_k=4, depth=2, total_tokens=11), dict(policy="chain", length=3), dict(policy="plain")
POLICIES = pytest.mark.parametrize("policy", [TREE, CHAIN, PLAIN], ids=["eagle2", "chain", "plain"])
BOTH = pytest.mark.parametrize("temperature", [0.0, 0.7], ids=["greedy", "sampled"])


@pytest.fixture(scope="module")
def theirs():
    """The same target as transformers reads it: no tree, no mask, no cache."""
    return AutoModelForCausalLM.from_pretrained(GOLDEN / "weights/target", dtype=torch.float32)


@torch.inference_mode()
def after(model, ids, temperature):
    """p(next token) of a plain text, by transformers alone."""
    logits = model(torch.tensor([ids])).logits[0, -1]
    return (logits / (temperature or 1.0)).softmax(-1)


@POLICIES
@BOTH
def test_the_target_is_told_as_it_reads_each_path_as_a_text(golden_pair, theirs, policy, temperature):
    trace = decode(golden_pair, PROMPT, DecodeConfig(max_new_tokens=6, temperature=temperature, **policy))
    text = list(PROMPT)
    for r in trace.rounds:
        tokens, said = r.tokens, []
        for row in range(len(tokens)):
            path, node = [], row
            while node >= 0:
                path.insert(0, tokens[node])
                node = r.tree.parent[node]
            said.append(after(theirs, text + path, temperature))
        for row, p in enumerate(said):
            best = p.topk(5)
            assert r.target.argmax[row] == int(p.argmax())
            assert [token for token, _ in r.target.top[row]] == best.indices.tolist()
            assert [share for _, share in r.target.top[row]] == pytest.approx(best.values.tolist(), abs=2e-5)
            own = float(said[r.tree.parent[row]][tokens[row]]) if row else 1.0
            assert r.target.token_prob[row] == pytest.approx(own, abs=2e-5)
        text += r.committed
    assert len(trace.rounds) > 1


@POLICIES
@BOTH
def test_seconds_stand_under_the_part_that_took_them(golden_pair, monkeypatch, policy, temperature):
    """By a clock that only moves in the functions of each part; what the listener takes between events is not counted."""
    now = [0.0]
    monkeypatch.setattr(decoder, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def takes(place, name, seconds):
        real = getattr(place, name)

        def timed(*given, **named):
            now[0] += seconds
            return real(*given, **named)

        monkeypatch.setattr(place, name, timed)

    takes(Target, "read", 3.0)
    takes(Drafter, "observe", 1.0)
    takes(Drafter, "probe", 2.0)
    takes(decoder, "gather", 0.5)
    takes(decoder, "flatten", 100.0)
    takes(Target, "verify", 1000.0)
    takes(decoder, "accept_sampling" if temperature else "accept_greedy", 10_000.0)
    takes(KVCache, "keep", 100_000.0)
    events = []
    for event in stream(golden_pair, PROMPT, DecodeConfig(max_new_tokens=9, temperature=temperature, **policy)):
        now[0] += 1e6
        events.append(event)
    trace, passes = fold(events), {"eagle2": 3, "chain": 3, "plain": 0}[policy.get("policy", "eagle2")]
    draft = 0.5 + (1.0 + 2.0 * (passes - 1) if passes else 0.0)
    a_round = {"draft": draft, "tree": 100.0, "verify": 1000.0, "accept": 10_000.0, "commit": 100_000.0}
    assert [r.seconds.model_dump() for r in trace.rounds] == [a_round] * len(trace.rounds)
    whole = {part: len(trace.rounds) * spent for part, spent in a_round.items()}
    assert trace.summary.seconds == {"prefill": 3.0} | whole
    assert trace.summary.head_forwards == passes * len(trace.rounds)
    assert trace.summary.target_forwards == 1 + len(trace.rounds)


@POLICIES
@BOTH
def test_what_is_out_is_told_at_once(golden_pair, policy, temperature):
    """The first root with the prefill, then what each round decided: together the output, however the run ends."""
    for most, knobs in ((1, policy), (2, policy), (7, policy), (16, policy), (8, dict(policy="chain", length=1))):
        events = list(stream(golden_pair, PROMPT, DecodeConfig(max_new_tokens=most, temperature=temperature, **knobs)))
        trace, told = fold(events), [event for event in events if isinstance(event, RootDecided | CacheCommitted)]
        assert [type(event) for event in told] == [RootDecided] + [CacheCommitted] * len(trace.rounds)
        assert [token for event in told for token in event.token_ids] == trace.output.token_ids
        assert "".join(text for event in told for text in event.texts) == trace.output.text
        assert len(told[0].token_ids) == 1 and len(trace.output.token_ids) == most
        assert all(len(r.decided) == r.accept.length + 1 for r in trace.rounds)
        assert Trace.from_text(trace.to_lines()) == trace == Trace.from_dict(trace.to_dict())
        assert all(r.accept.rule == ("one-hot" if temperature else "greedy") for r in trace.rounds)


def test_the_text_is_what_the_tokenizer_makes_of_the_whole(golden_pair):
    """However much of it was told on the way: a run may end in the middle of a character."""
    pair, broken = dataclasses.replace(golden_pair, tokenizer=byte_level()), 0
    for most in range(1, 13):
        output = decode(pair, PROMPT, DecodeConfig(max_new_tokens=most, temperature=1.0, **TREE)).output
        assert output.text == pair.tokenizer.decode(output.token_ids, clean_up_tokenization_spaces=False)
        broken += output.text.endswith("\ufffd")
    assert broken


def test_a_long_prompt_is_told_piece_by_piece(golden_pair, monkeypatch):
    monkeypatch.setattr(target_module, "PIECE", 2)
    events = list(stream(golden_pair, PROMPT, DecodeConfig(max_new_tokens=4, **TREE)))
    assert [(e.read, e.total) for e in events if isinstance(e, PromptRead)] == [(2, 5), (4, 5)]
    assert isinstance(events[3], RootDecided) and fold(events).prompt.token_ids == PROMPT


def test_who_made_it_and_in_how_many_digits(golden_pair):
    trace = decode(golden_pair, PROMPT, DecodeConfig(max_new_tokens=4, temperature=1.0, **TREE))
    assert trace.producer.model_dump() == {"name": "treeviz", "version": __version__, "torch": torch.__version__,
                                           "transformers": transformers.__version__}
    layers, vocab = golden_pair.target.layers, golden_pair.target.vocab_size
    assert trace.pair.head.model_dump() == {"kind": "eagle", "layers": [layers], "vocab_size": vocab}
    for r in trace.rounds:
        top = [p for row in r.target.top for _, p in row]
        numbers = [*r.candidates.score, *r.candidates.log_prob, *r.target.token_prob, *top, r.tree.cutoff]
        assert numbers == [round(x, 6) for x in numbers] and any(x != round(x, 5) for x in numbers)


def test_of_a_row_whose_numbers_are_not_finite_nothing_is_said(golden_pair, tmp_path):
    """The target cannot read one drafted token: of it and of what hangs on it there is no probability, of the others all."""
    free = decode(golden_pair, PROMPT, DecodeConfig(max_new_tokens=4, **TREE)).rounds[0]
    inner = [row for row in set(free.tree.parent) - {-1, *free.accept.path}]
    token = free.tokens[inner[0]]
    shutil.copytree(GOLDEN / "weights/target", tmp_path / "target")
    shutil.copytree(GOLDEN / "weights/head_bias", tmp_path / "head")
    edit_tensors(tmp_path / "target", lambda t: t["model.embed_tokens.weight"][token].fill_(torch.nan))
    own = golden_pair.target.model.get_input_embeddings().weight.detach().clone()
    edit_tensors(tmp_path / "head", lambda t: t.update({"embed_tokens.weight": own}))
    with pytest.warns(PairWarning, match="an embedding of its own"):
        pair = load_pair(tmp_path / "target", tmp_path / "head", device="cpu")
    r = decode(pair, PROMPT, DecodeConfig(max_new_tokens=4, **TREE)).rounds[0]
    assert r.tokens == free.tokens and r.accept == free.accept
    lost = {row for row in range(len(r.tokens)) if any(
        on and r.tokens[above] == token for above, on in enumerate(r.mask_row(row)))}
    assert 1 < len(lost) < len(r.tokens)
    for row in range(len(r.tokens)):
        told = [p for _, p in r.target.top[row]]
        assert told == ([0.0] * 5 if row in lost else pytest.approx([p for _, p in free.target.top[row]], abs=1e-5))
        own = 0.0 if r.tree.parent[row] in lost else free.target.token_prob[row]
        assert r.target.token_prob[row] == pytest.approx(own, abs=1e-5)


def test_a_run_that_drafts_nothing_adds_up_to_nothing_drafted(golden_pair):
    told = decode(golden_pair, PROMPT, DecodeConfig("plain", max_new_tokens=5)).summary.model_dump()
    del told["seconds"]
    assert told == {"rounds": 4, "new_tokens": 5, "tau": 1.0, "mean_acceptance_length": 1.0, "accepted_by_depth": [],
                    "acceptance_rate_per_pos": [], "acceptance_histogram": [4], "draft_acceptance_rate": 0.0,
                    "target_forwards": 5, "head_forwards": 0}


class Slow(Chain):
    """A chain that asks the head three times for each token."""

    name, exact = "tests:slow", False

    def bounds(self, knobs):
        return dataclasses.replace(super().bounds(knobs), passes=3 * knobs["length"])

    def grow(self, drafter, token_ids, features, config):
        for layer in super().grow(drafter, token_ids, features, config):
            yield dataclasses.replace(layer, passes=3)


def test_passes_are_counted_as_the_layers_say(golden_pair):
    trace = decode(golden_pair, PROMPT, DecodeConfig(Slow(), length=2, max_new_tokens=8))
    assert [[layer.passes for layer in r.layers] for r in trace.rounds] == [[3, 3]] * len(trace.rounds)
    assert trace.summary.head_forwards == 6 * len(trace.rounds) and trace.config["policy"] == "tests:slow"
    assert trace.output == decode(golden_pair, PROMPT, DecodeConfig("chain", length=2, max_new_tokens=8)).output


@pytest.mark.parametrize("vocab", [96, 1536], ids=["plain", "by blocks"])
@pytest.mark.parametrize("alike", [2, 8, 96])
@pytest.mark.parametrize("temperature", [0, 1.0])
def test_at_a_tie_the_likeliest_begin_with_the_token_that_was_chosen(tmp_path, vocab, alike, temperature):
    """Rows of the lm_head repeat, so that this many tokens have the same logit, far apart in the vocabulary."""
    target = make_target(tmp_path / "target", vocab_size=vocab)
    edit_tensors(target, lambda t: t.update({"lm_head.weight": t["lm_head.weight"][: vocab // alike].repeat(alike, 1)}))
    pair = load_pair(target, make_head(tmp_path / "head", target), device="cpu")
    settings = DecodeConfig(top_k=4, depth=2, total_tokens=12, max_new_tokens=8, temperature=temperature)
    for r in decode(pair, [5, 17, 3, 8], settings).rounds:
        assert [row[0][0] for row in r.target.top] == r.target.argmax
        for row in r.target.top:
            assert len({token for token, _ in row}) == 5 and len({p for _, p in row[:alike]}) == 1, row
        if not temperature:
            assert r.target.top[r.accept.bonus_from][0][0] == r.accept.bonus


def test_where_nothing_is_tied_nothing_is_moved():
    p = torch.randn(7, 1280, generator=torch.Generator().manual_seed(0)).softmax(-1)
    best, ids = _top(p, 5)
    assert torch.equal(ids, p.topk(5).indices)
    assert _chosen_first(p, best, ids, p.argmax(-1))[1] is ids
