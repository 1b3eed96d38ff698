"""Sampling is lossless: the joint distribution of the first two tokens is exactly the target's.

A chi-square test over every pair of tokens, at a fixed seed, at three settings; and the proof that it would
notice: a rule that accepts with min(1, p/q) fails it by orders of magnitude.
"""

import pytest
import torch
from pair_maker import make_head, make_target

from core import DecodeConfig, decode, generate, load_pair
from core import decoder as decoder_module
from core.measure.plain import plain
from core.tree import Candidates, flatten
from core.verify import Accepted, Chance, Draw, accept_sampling, target_distribution

RUNS = 2500
PROMPT = [3, 1, 4]
SETTINGS = [
    dict(temperature=1.0),
    dict(temperature=0.7, top_p=0.8),
    dict(temperature=1.5, sample_top_k=4),
]


@pytest.fixture(scope="module")
def tiny_pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    target = make_target(folder / "target", seed=5, vocab_size=7, hidden_size=16, intermediate_size=16,
                         num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, initializer_range=0.45)
    return load_pair(target, make_head(folder / "head", target, scale=0.4), device="cpu")


def exact(pair, setting):
    """{(a, b): probability} by two plain passes of transformers; the cuts written out again, the slow way."""
    def after(ids):
        with torch.inference_mode():
            logits = pair.target.model(torch.tensor([ids])).logits[0, -1].double() / setting["temperature"]
        p = logits.softmax(-1).tolist()
        ranked = sorted(range(len(p)), key=lambda i: -p[i])
        if setting.get("sample_top_k"):
            ranked = ranked[: setting["sample_top_k"]]
        mass = sum(p[i] for i in ranked)
        kept, total = [], 0.0
        for i in ranked:
            kept.append(i)
            total += p[i] / mass
            if total >= setting.get("top_p", 1.0):
                break
        mass = sum(p[i] for i in kept)
        return {i: p[i] / mass for i in kept}

    return {(a, b): pa * pb for a, pa in after(PROMPT).items() for b, pb in after([*PROMPT, a]).items()}


def chi_square_p_value(counts, probabilities, runs):
    """P(a sample from `probabilities` deviates this much); cells below 5 expected are pooled."""
    assert set(counts) <= set(probabilities), "a pair of probability 0 was emitted"
    cells = [(counts.get(cell, 0), p * runs) for cell, p in probabilities.items()]
    small = [cell for cell in cells if cell[1] < 5]
    cells = [cell for cell in cells if cell[1] >= 5] + ([tuple(map(sum, zip(*small)))] if small else [])
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in cells)
    return float(torch.special.gammaincc(torch.tensor((len(cells) - 1) / 2), torch.tensor(statistic / 2)))


def sample(pair, setting, runs):
    chance, counts = Chance(20240624), {}
    config = DecodeConfig(top_k=3, depth=1, total_tokens=6, max_new_tokens=2, **setting)
    for _ in range(runs):
        emitted = []
        for stage in decoder_module.rounds(pair, PROMPT, config, chance):
            if isinstance(stage, decoder_module.Prefilled | decoder_module.Committed):
                emitted += stage.token_ids
        counts[tuple(emitted)] = counts.get(tuple(emitted), 0) + 1
    return counts


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: "-".join(f"{k}{v}" for k, v in s.items()))
def test_joint_distribution_is_the_targets(tiny_pair, setting):
    counts = sample(tiny_pair, setting, RUNS)
    assert chi_square_p_value(counts, exact(tiny_pair, setting), RUNS) > 1e-3


def test_a_wrong_rule_is_caught(tiny_pair, monkeypatch):
    """min(1, p/q) with the head's probabilities is right for sampled drafts, wrong for top-k ones."""
    drafted = {}
    gather = decoder_module.gather

    def remember(layers):
        drafted["q"] = torch.cat([layer.log_prob for layer in layers]).exp().tolist()
        return gather(layers)

    def wrong(tree, distribution, chance):
        path, draws = [0], []
        while True:
            p = distribution(path[-1]).clone()
            children = [i for i, parent in enumerate(tree.parent.tolist()) if parent == path[-1]]
            for node in children:
                token, q = int(tree.token[node]), drafted["q"][int(tree.candidate[node]) - 1]
                draws.append(Draw(node, min(1.0, float(p[token]) / q), chance.draw()))
                if draws[-1].accepted:
                    path.append(node)
                    break
                p[token] = 0
                p = p / p.sum() if p.sum() > 0 else distribution(path[-1])
            else:
                return Accepted(0, path, chance.pick(p), draws)

    monkeypatch.setattr(decoder_module, "gather", remember)
    monkeypatch.setattr(decoder_module, "accept_sampling", wrong)
    counts = sample(tiny_pair, SETTINGS[0], RUNS)
    assert chi_square_p_value(counts, exact(tiny_pair, SETTINGS[0]), RUNS) < 1e-9


def test_plain_sampling_has_the_same_distribution(tiny_pair):
    chance, counts = Chance(7), {}
    config = DecodeConfig(top_k=3, depth=1, total_tokens=6, max_new_tokens=2, **SETTINGS[1])
    for _ in range(RUNS):
        pair = tuple(token for _, token in plain(tiny_pair, PROMPT, config, chance))
        counts[pair] = counts.get(pair, 0) + 1
    assert chi_square_p_value(counts, exact(tiny_pair, SETTINGS[1]), RUNS) > 1e-3


def test_the_same_seed_gives_the_same_run(tiny_pair):
    config = DecodeConfig(top_k=3, depth=2, total_tokens=9, max_new_tokens=30, temperature=1.0, seed=4)
    first, again = decode(tiny_pair, PROMPT, config), decode(tiny_pair, PROMPT, config)
    assert first.output == again.output and [r.accept for r in first.rounds] == [r.accept for r in again.rounds]
    assert generate(tiny_pair, PROMPT, config) == first.output.token_ids
    other = DecodeConfig(**{**config.to_dict(), "seed": 5})
    assert generate(tiny_pair, PROMPT, other) != first.output.token_ids


class Fixed(Chance):
    def __init__(self, *draws):
        self.left = list(draws)

    def draw(self):
        return self.left.pop(0)

    def pick(self, p):
        self.mass = p
        return int(p.argmax())


def tree_of_three():
    candidates = Candidates(torch.tensor([1, 2, 3]), torch.zeros(3, dtype=torch.long), torch.zeros(3, dtype=torch.long),
                            torch.tensor([-1.0, -2.0, -3.0]))
    return flatten(0, candidates, torch.arange(3))


def test_mass_of_rejected_siblings_is_removed_and_the_rest_renormalised():
    p = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    chance = Fixed(0.2, 0.5, 0.99)
    accepted = accept_sampling(tree_of_three(), lambda row: p, chance)
    assert [d.p for d in accepted.draws] == pytest.approx([0.2, 0.3 / 0.8, 0.4 / 0.5])
    assert [d.accepted for d in accepted.draws] == [False, False, False], "r equal to p is not below it"
    assert chance.mass.tolist() == pytest.approx([0.1, 0, 0, 0]) and accepted.bonus == 0
    assert p.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4]), "the distribution itself is left alone"


def test_a_last_child_with_all_the_mass_that_is_left_is_accepted():
    """Float32 shares need not add up to one; what they leave then must not go to an impossible token."""
    for seed in range(200):
        p = torch.zeros(4)
        p[1:] = torch.randn(3, generator=torch.Generator().manual_seed(seed)).softmax(0)
        accepted = accept_sampling(tree_of_three(), lambda row, p=p: p if row == 0 else torch.tensor([1.0, 0, 0, 0]),
                                   Fixed(*[1 - 2**-53] * 3))
        assert accepted.draws[-1].accepted or accepted.draws[-1].node < 3


def test_a_token_of_probability_zero_is_impossible_even_at_r_zero():
    p = torch.tensor([0.0, 0.0, 1.0, 0.0])
    accepted = accept_sampling(tree_of_three(), lambda row: p if row == 0 else torch.tensor([0.5, 0.5, 0, 0]),
                               Fixed(0.0, 0.999999))
    assert [(d.node, d.accepted) for d in accepted.draws] == [(1, False), (2, True)]

    class Zero(Chance):
        def __init__(self):
            self._random = self

        def random(self):
            return 0.0

    assert Zero().pick(torch.tensor([0.0, 0.0, 0.3, 0.0])) == 2


def test_pick_follows_the_distribution():
    chance, p = Chance(1), torch.tensor([0.5, 0.0, 0.2, 0.3])
    counts = torch.bincount(torch.tensor([chance.pick(p) for _ in range(4000)]), minlength=4)
    assert counts[1] == 0
    assert chi_square_p_value(dict(enumerate(counts.tolist())), {0: 0.5, 2: 0.2, 3: 0.3, 1: 1e-12}, 4000) > 1e-3


def test_cuts_agree_with_transformers():
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
    logits = torch.randn(50, generator=torch.Generator().manual_seed(0)) * 3
    for temperature, top_p, top_k in [(0.7, 0.9, 0), (1.3, 1.0, 5), (0.5, 0.6, 20), (2.0, 0.05, 0)]:
        theirs = TemperatureLogitsWarper(temperature)(None, logits[None])
        if top_k:
            theirs = TopKLogitsWarper(top_k)(None, theirs)
        if top_p < 1:
            theirs = TopPLogitsWarper(top_p)(None, theirs)
        assert torch.allclose(target_distribution(logits, temperature, top_p, top_k), theirs.softmax(-1)[0], atol=1e-6)
    for top_p in (1e-9, 1e-300):
        p = target_distribution(logits, 1.0, top_p)
        assert p.argmax() == logits.argmax() and float(p.max()) == 1.0, "the likeliest token always stays"
