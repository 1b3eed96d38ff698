"""Greedy output equals plain greedy decoding of the same target, token for token, in float32."""

import dataclasses

import pytest
import torch
from pair_maker import make_head, make_target

from core import DecodeConfig, Trace, decode, generate, load_pair
from core.errors import DecodeError
from core.measure.check import check
from core.measure.plain import plain
from core.policies.chain import POLICY as CHAIN
from core.policies.policy import Bounds, Knob, Policy
from core.tree import Layer

GRID = [
    dict(top_k=10, depth=5, total_tokens=59),
    dict(top_k=4, depth=0, total_tokens=4),
    dict(top_k=1, depth=4, total_tokens=5),
    dict(top_k=1, depth=0, total_tokens=1),
    dict(top_k=3, depth=3, total_tokens=1),
    dict(top_k=3, depth=4, total_tokens=39),  # every candidate
    dict(top_k=8, depth=2, total_tokens=20),
    dict(policy="chain", length=1),
    dict(policy="chain", length=7),
    dict(policy="static"),
    dict(policy="static", tree=[[0], [1], [1, 0], [1, 2], [1, 2, 1]]),
    dict(policy="cartesian", widths=[3, 1, 2]),
    dict(policy="sequoia", nodes=20, layers=4),
    dict(policy="optimal", nodes=1),
    dict(policy="optimal", nodes=14, layers=4),
    dict(policy="plain"),
]
PROMPTS = [[7], [1, 5, 9, 3, 60, 21, 33], list(range(2, 60))]


def recompute(pair, prompt, count):
    """The plainest decoding there is: the whole sequence through transformers each time, no cache of ours."""
    ids = list(prompt)
    with torch.inference_mode():
        for _ in range(count):
            ids.append(int(pair.target.model(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
    return ids[len(prompt):]


@pytest.mark.parametrize("setting", GRID, ids=lambda s: "-".join(map(str, s.values())))
@pytest.mark.parametrize("which", ["golden_pair", "eagle3_pair", "weak_pair", "random_pair"])
def test_greedy_equals_plain(which, setting, request):
    pair = request.getfixturevalue(which)
    for prompt in PROMPTS:
        config = DecodeConfig(**setting, max_new_tokens=24)
        stops = pair.eos_ids
        expected = recompute(pair, prompt, 24)
        for place, token in enumerate(expected):
            if token in stops:
                expected = expected[: place + 1]
                break
        assert generate(pair, prompt, config) == expected
        assert [token for _, token in plain(pair, prompt, config)] == expected


@pytest.mark.parametrize("changes", [
    dict(tie_word_embeddings=True),
    dict(num_key_value_heads=1, num_hidden_layers=1),
    dict(rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}),
    dict(rope_parameters={"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
                          "high_freq_factor": 4.0, "original_max_position_embeddings": 64}),
    dict(attention_bias=True, head_dim=16),
], ids=["tied", "one-kv-head", "linear", "llama3", "head-dim"])
def test_kinds_of_llama(changes, tmp_path):
    target = make_target(tmp_path / "target", seed=3, **changes)
    pair = load_pair(target, make_head(tmp_path / "head", target), device="cpu")
    assert generate(pair, [5, 6, 7], DecodeConfig(top_k=4, depth=3, total_tokens=20, max_new_tokens=30)) \
        == recompute(pair, [5, 6, 7], 30)


def test_a_head_that_knows_everything_is_accepted_whole(golden_pair):
    """The other extreme from the weak head: with the golden head whole paths are accepted, deep ones too."""
    trace = decode(golden_pair, [1, 115, 57, 198, 43, 106], DecodeConfig(top_k=4, depth=3, total_tokens=20))
    assert max(r.accept.length for r in trace.rounds) == 4
    assert trace.output.token_ids == recompute(golden_pair, [1, 115, 57, 198, 43, 106], 128)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_exact_max_new_tokens(golden_pair, count):
    trace = decode(golden_pair, [1, 115, 57], DecodeConfig(max_new_tokens=count))
    assert len(trace.output.token_ids) == count and trace.output.finish_reason == "length"


def test_a_stop_id_ends_the_output_wherever_it_falls(golden_pair):
    whole = recompute(golden_pair, [1, 115, 57, 198], 40)
    for place in range(1, 20):
        stop = whole[place]
        trace = decode(golden_pair, [1, 115, 57, 198], DecodeConfig(max_new_tokens=40, stop_ids=(stop,)))
        assert trace.output.token_ids == whole[: whole.index(stop) + 1]
        assert trace.output.finish_reason == "stop"
    eos = dataclasses.replace(golden_pair, eos_ids=(whole[6], whole[9]))
    trace = decode(eos, [1, 115, 57, 198], DecodeConfig(max_new_tokens=40))
    assert trace.output.token_ids == whole[: min(whole.index(whole[6]), whole.index(whole[9])) + 1]
    assert trace.output.finish_reason == "eos"


def test_a_root_that_stops_ends_the_run_without_a_round(golden_pair):
    first = recompute(golden_pair, [1, 115], 1)
    trace = decode(golden_pair, [1, 115], DecodeConfig(stop_ids=tuple(first)))
    assert (trace.output.token_ids, trace.output.finish_reason, trace.rounds) == (first, "stop", [])


def test_the_context_limit_ends_a_run(tmp_path):
    target = make_target(tmp_path / "target", max_position_embeddings=40)
    pair = load_pair(target, make_head(tmp_path / "head", target), device="cpu")
    config = DecodeConfig(top_k=3, depth=2, total_tokens=12, max_new_tokens=100)
    trace = decode(pair, [3, 4, 5], config)
    assert trace.output.finish_reason == "context"
    assert trace.output.token_ids == recompute(pair, [3, 4, 5], len(trace.output.token_ids))
    assert 40 - 4 <= 3 + len(trace.output.token_ids) <= 40
    assert len(decode(pair, list(range(36)), config).rounds) == 1, "the longest prompt that leaves room for a round"
    with pytest.raises(DecodeError, match="shorten the prompt to 36 tokens"):
        decode(pair, list(range(37)), config)


class Comb(Policy):
    """A chain with two side guesses per link."""

    name = "comb"
    knobs = {"length": Knob(4, least=1)}

    def bounds(self, knobs):
        n = knobs["length"]
        return Bounds(passes=n, candidates=3 * n, rows=3 * n + 1, depth=n, head_rows=n - 1, children=3)

    def grow(self, drafter, token_ids, features, config):
        for number, layer in enumerate(CHAIN.grow(drafter, token_ids, features, config)):
            first, parent = 3 * number + 1, max(0, 3 * number - 2)
            spread = lambda x, worse: torch.cat([x, x - worse, x - 2 * worse])  # noqa: E731
            yield Layer(torch.tensor([parent]), torch.cat([layer.token, torch.tensor([3, 4])]),
                        torch.tensor([parent] * 3), spread(layer.log_prob, 20), spread(layer.score, 20),
                        torch.tensor([first] if number + 1 < config.length else [], dtype=torch.long))


def test_another_way_to_draft_is_another_policy(golden_pair):
    """Verified by the same round: still lossless."""
    assert generate(golden_pair, [1, 115, 57], DecodeConfig(Comb(), max_new_tokens=30)) == recompute(golden_pair, [1, 115, 57], 30)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_autocast_around_a_run_changes_nothing_in_it(golden_pair, half):
    """The pair's dtype holds, its numbers are the same to the last digit; outside the run's steps autocast goes on."""
    from core import stream
    config = DecodeConfig(top_k=4, depth=2, total_tokens=16, max_new_tokens=20)
    whole = decode(golden_pair, [1, 115, 57], config)
    with torch.autocast("cpu", dtype=half):
        trace = decode(golden_pair, [1, 115, 57], config)
        assert check(golden_pair, [1, 115, 57], config, trace.output.token_ids)["lossless"]
        run = stream(golden_pair, [1, 115, 57], config)
        assert all(torch.is_autocast_enabled("cpu") for _ in run) and torch.mm(torch.eye(2), torch.eye(2)).dtype is half
    for ours, theirs in zip(trace.rounds, whole.rounds, strict=True):
        assert (ours.candidates, ours.tree, ours.target, ours.accept) == (theirs.candidates, theirs.tree, theirs.target,
                                                                          theirs.accept)


def test_two_runs_at_once_do_not_meet(golden_pair):
    """Each run owns its caches: two interleaved streams give what they give alone."""
    from core import stream
    config = DecodeConfig(top_k=4, depth=2, total_tokens=16, max_new_tokens=20)
    alone = [decode(golden_pair, prompt, config).output.token_ids for prompt in ([1, 115], [1, 57, 198])]
    runs = [stream(golden_pair, prompt, config) for prompt in ([1, 115], [1, 57, 198])]
    together = [[], []]
    live = [0, 1]
    while live:
        for i in list(live):
            event = next(runs[i], None)
            if event is None:
                live.remove(i)
            else:
                together[i] += getattr(event, "token_ids", [])
    assert together == alone


def test_the_check_sees_tokens_too_many_and_too_few(golden_pair):
    config = DecodeConfig(top_k=4, depth=2, total_tokens=11, max_new_tokens=12)
    ids = generate(golden_pair, [7], config)
    assert len(ids) == 12 and check(golden_pair, [7], config, ids)["lossless"]
    for settings in (config, config.but(max_new_tokens=20, stop_ids=(ids[4],))):
        whole = generate(golden_pair, [7], settings)
        assert check(golden_pair, [7], settings, whole)["lossless"]
        surplus = check(golden_pair, [7], settings, [*whole, 5])
        assert (surplus["lossless"], surplus["first_difference"]) == (False, len(whole))
        assert f"ended after {len(whole)} tokens" in surplus["note"] and "token 5" in surplus["note"]
        missing = check(golden_pair, [7], settings, whole[:-1])
        assert (missing["lossless"], missing["first_difference"]) == (False, len(whole) - 1)
        assert f"token {whole[-1]}" in missing["note"]
        assert check(golden_pair, [7], settings, whole[:-1], cancelled=True)["lossless"]
        assert not check(golden_pair, [7], settings, [*whole, 5], cancelled=True)["lossless"]
        document = decode(golden_pair, [7], settings).to_dict()
        document["check"] = surplus | {"first_difference": len(whole)}
        assert Trace.from_dict(document).check.lossless is False, "a trace can tell of it"


def test_the_check_lets_a_full_context_end_a_run(tmp_path):
    target = make_target(tmp_path / "target", max_position_embeddings=40)
    pair = load_pair(target, make_head(tmp_path / "head", target), device="cpu")
    config = DecodeConfig(top_k=3, depth=2, total_tokens=12, max_new_tokens=100)
    ids = generate(pair, [3, 4, 5], config)
    assert len(ids) < len(list(plain(pair, [3, 4, 5], config))) and check(pair, [3, 4, 5], config, ids)["lossless"]
    while 3 + len(ids) - 1 + 2 + 2 > 40:
        ids = ids[:-1]
    assert not check(pair, [3, 4, 5], config, ids)["lossless"], "there was room for another round"
