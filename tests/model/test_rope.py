"""Rope that depends on the length: equal to transformers' own `generate` on both sides of the border and across it."""

import json
from types import SimpleNamespace

import pytest
import torch
from pair_maker import make_head, make_target
from transformers import LlamaForCausalLM

from core import DecodeConfig, decode, load_pair, stream
from core.decoder import Committed, DecodeError, Prefilled, rounds
from core.errors import UserError
from core.measure.check import check
from core.measure.plain import plain
from core.model.rope import RopeByLength, context_of
from core.policies.policy import Bounds, Policy
from core.train.selfgen import BatchedLlama
from core.train.training import save_head
from core.tree import Layer

SMALL = DecodeConfig(top_k=4, depth=3, total_tokens=20, max_new_tokens=30)
FACTORS = {"short_factor": [1.0, 1.3, 1.1, 1.2], "long_factor": [1.0, 3.0, 6.0, 9.0]}
BORDER = 40  # tokens, of every target here
KINDS = {
    "linear": dict(max_position_embeddings=BORDER, rope_parameters={"rope_type": "linear", "factor": 4.0}),
    "dynamic": dict(max_position_embeddings=BORDER, rope_parameters={"rope_type": "dynamic", "factor": 4.0}),
    "proportional": dict(max_position_embeddings=BORDER, rope_parameters={"rope_type": "proportional", "factor": 4.0}),
    "yarn": dict(max_position_embeddings=BORDER, rope_parameters={
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": BORDER}),
    "longrope": dict(max_position_embeddings=4 * BORDER, rope_parameters={
        "rope_type": "longrope", "original_max_position_embeddings": BORDER, **FACTORS}),
    "llama3": dict(max_position_embeddings=4 * BORDER, rope_parameters={
        "rope_type": "llama3", "factor": 2.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": BORDER}),
}


def prompt_of(length):
    return [2 + i * 7 % 90 for i in range(length)]


def truth(target, ids, count):
    """transformers' greedy decoding by a model that has decoded nothing before."""
    model = LlamaForCausalLM.from_pretrained(target, dtype=torch.float32).eval()
    prompt = torch.tensor([ids])
    out = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=count, pad_token_id=0)
    return out[0, len(ids):].tolist()


def write(directory, kind, **changes):
    rope = {"rope_theta": 10000.0} | KINDS[kind]["rope_parameters"]
    return make_target(directory, seed=4, **KINDS[kind] | {"rope_parameters": rope} | changes)


@pytest.fixture(scope="module", params=KINDS)
def scaled(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    target = write(folder / "target", request.param)
    return target, load_pair(target, make_head(folder / "head", target), device="cpu")


@pytest.mark.parametrize("length", [1, 25, 37, 39, 40, 41, 90, 5])  # before, across, at and beyond; and back again
def test_generate_says_the_same(scaled, length):
    target, pair = scaled
    ids = prompt_of(length)
    expected = truth(target, ids, 30)
    trace = decode(pair, ids, SMALL)
    assert trace.output.token_ids == expected
    assert [token for _, token in plain(pair, ids, SMALL)] == expected
    assert check(pair, ids, SMALL, expected)["lossless"]


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_a_prompt_read_in_pieces_is_turned_as_its_end_asks_for(kind, tmp_path, monkeypatch):
    target = write(tmp_path / "target", kind)
    pair = load_pair(target, make_head(tmp_path / "head", target), device="cpu")
    monkeypatch.setattr("core.model.target.PIECE", 16)
    for length in (39, 90):
        assert decode(pair, prompt_of(length), SMALL).output.token_ids == truth(target, prompt_of(length), 30)


@pytest.mark.parametrize("kind", ["dynamic", "longrope"])
def test_drafts_that_are_accepted_across_the_border(kind, tmp_path):
    """With a target that repeats itself, whole paths are accepted where the frequencies change."""
    target = write(tmp_path / "target", kind, num_hidden_layers=1)
    pair = load_pair(target, make_head(tmp_path / "head", target), device="cpu")
    answers = truth(target, prompt_of(30), 40)

    stages = []

    class Knowing(Policy):
        """One path, the right one, and a wrong sibling at each step."""

        name = "knowing"

        def bounds(self, knobs):
            return Bounds(passes=5, candidates=10, rows=11, depth=5, head_rows=0, children=2)

        def grow(self, drafter, fresh, features, config):
            place = sum(len(s.token_ids) for s in stages)  # the root among them
            for number in range(5):
                right = (answers + [0] * 9)[place + number]
                parent = max(0, 2 * number - 1)
                log_prob = torch.tensor([-0.1, -0.2])
                yield Layer(torch.tensor([parent]), torch.tensor([right, (right + 1) % 97]), torch.tensor([parent] * 2),
                            log_prob, log_prob - 0.3 * number,
                            torch.tensor([2 * number + 1] if number < 4 else [], dtype=torch.long))

    for stage in rounds(pair, prompt_of(30), DecodeConfig(Knowing(), max_new_tokens=40)):
        if isinstance(stage, Prefilled | Committed):
            stages.append(stage)
    assert [token for s in stages for token in s.token_ids] == answers
    assert max(len(s.kept) for s in stages if isinstance(s, Committed) and s.length_before < BORDER < s.length_after) > 3


def test_two_runs_in_turns_do_not_share_a_length(tmp_path):
    target = write(tmp_path / "target", "dynamic")
    pair = load_pair(target, make_head(tmp_path / "head", target), device="cpu")
    lengths = (90, 36)
    runs = [stream(pair, prompt_of(n), SMALL) for n in lengths]
    emitted = [[], []]
    while runs[0] or runs[1]:
        for i, run in enumerate(runs):
            event = run and next(run, None)
            runs[i] = run if event else None
            if event and type(event).__name__ == "RunFinished":
                emitted[i] = event.output["token_ids"]
    assert emitted == [truth(target, prompt_of(n), 30) for n in lengths]


def test_the_model_in_the_pair_generates_like_a_fresh_one(tmp_path):
    target = write(tmp_path / "target", "dynamic")
    pair = load_pair(target, make_head(tmp_path / "head", target), device="cpu")
    decode(pair, prompt_of(90), SMALL)
    ids = torch.tensor([prompt_of(60)])
    out = pair.target.model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=30, pad_token_id=0)
    assert out[0, 60:].tolist() == truth(target, prompt_of(60), 30)


def test_the_context_counts_the_scaling(scaled):
    _, pair = scaled
    assert pair.target.context == 4 * BORDER
    room = 4 * BORDER - SMALL.positions
    trace = decode(pair, prompt_of(room), SMALL)
    assert trace.output.finish_reason == "context" and len(trace.rounds) >= 1
    with pytest.raises(DecodeError, match=f"the context of .* is {4 * BORDER} and .* shorten the prompt to {room} tokens"):
        decode(pair, prompt_of(room + 1), SMALL)


@pytest.mark.parametrize("rope, longest, context", [
    ({"rope_type": "default"}, 64, 64),
    ({"rope_type": "linear", "factor": 2.5}, 64, 160),
    ({"rope_type": "linear", "factor": 1}, 64, 64),
    ({"rope_type": "dynamic", "factor": float("inf")}, 64, 64),
    ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}, 256, 256),  # given after scaling
    ({"rope_type": "yarn", "factor": None, "original_max_position_embeddings": 64}, 256, 256),
    ({"rope_type": "llama3", "factor": 32.0, "original_max_position_embeddings": 8192}, 131072, 131072),  # Llama 3.2
    ({"rope_type": "longrope", "factor": 32.0, "original_max_position_embeddings": 4096}, 4096, 4096),
])
def test_what_a_rope_carries(rope, longest, context):
    assert context_of(SimpleNamespace(rope_parameters=rope, max_position_embeddings=longest)) == context


def edit_head(head, **changes):
    path = head / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_head_keeps_its_own_lengths(tmp_path):
    """Its rope's border is the head's, the target's where it names none; and no run remembers the one before."""
    target = write(tmp_path / "target", "linear")
    head = make_head(tmp_path / "head", target)
    dynamic = {"rope_scaling": {"type": "dynamic", "factor": 2.0}}
    for changes, border in ((dynamic, BORDER), (dynamic | {"max_position_embeddings": 12}, 12),
                            ({"rope_scaling": {"type": "longrope", **FACTORS}, "original_max_position_embeddings": 20}, 20)):
        edit_head(head, **changes)
        pair = load_pair(target, head, device="cpu")
        assert isinstance(pair.head.rotary, RopeByLength) and pair.head.rotary.border == border
        first = decode(pair, prompt_of(10), SMALL)
        decode(pair, prompt_of(100), SMALL)
        again = decode(pair, prompt_of(10), SMALL)
        assert [r.candidates for r in again.rounds] == [r.candidates for r in first.rounds]
        assert first.output.token_ids == truth(target, prompt_of(10), 30)


def test_training_turns_its_rows_likewise(tmp_path):
    """The text that a target writes for training is decoded one by one; a head that is trained on keeps its rope."""
    target = write(tmp_path / "target", "dynamic")
    head = make_head(tmp_path / "head", target)
    edit_head(head, rope_scaling={"type": "dynamic", "factor": 2.0}, max_position_embeddings=12)
    pair, ids = load_pair(target, head, device="cpu"), prompt_of(60)
    llama = BatchedLlama(LlamaForCausalLM.from_pretrained(target), torch.float32, 1, 60)
    with torch.inference_mode():
        cache = pair.target.new_cache(60)
        logits = torch.stack([pair.target.step(token, cache) for token in ids])
        features = torch.cat([llama.step(torch.tensor([token]), place) for place, token in enumerate(ids)])
        torch.testing.assert_close(pair.target.logits(features), logits, atol=1e-3, rtol=1e-3)
    save_head(pair.head, tmp_path / "saved")
    assert load_pair(target, tmp_path / "saved", device="cpu").head.config.rope_parameters == pair.head.config.rope_parameters


@pytest.mark.parametrize("kind", ["linear", "longrope", "yarn"])
def test_a_rope_that_turns_half_a_head_is_refused(kind, tmp_path):
    half = {"short_factor": [1.0, 1.3], "long_factor": [1.0, 3.0]} if kind == "longrope" else {}
    rope = KINDS[kind]["rope_parameters"] | half | {"rope_theta": 10000.0, "partial_rotary_factor": 0.5}
    target = write(tmp_path / "target", kind, rope_parameters=rope)
    with pytest.raises(UserError, match=r"turns 4 numbers of an attention head that has 8, .*partial_rotary_factor"):
        load_pair(target, make_head(tmp_path / "head", target), device="cpu")


def test_a_long_factor_of_the_wrong_length_is_found_before_the_border(tmp_path):
    target = write(tmp_path / "target", "longrope")
    config = json.loads((target / "config.json").read_text())
    config["rope_parameters"]["long_factor"].append(2.0)
    (target / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="The longrope rope cannot be computed beyond 40 tokens"):
        load_pair(target, make_head(tmp_path / "head", target), device="cpu")
