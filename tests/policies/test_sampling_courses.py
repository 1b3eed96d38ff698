"""Sampling is lossless for every policy, without statistics: each course that chance can take is taken once, its
probability multiplied up from the draws that were recorded, and the sums are the target's joint distribution."""

from collections import Counter

import pytest
import torch
from eagle3_maker import IDS, make_head3
from pair_maker import make_head, make_target
from test_policy_trees import Bush, Jump

from core import DecodeConfig, decoder, load_pair
from core.verify import Accepted, Chance, Draw

PROMPT = [3, 1, 4]
SETTINGS = [dict(temperature=1.0), dict(temperature=0.7, top_p=0.8), dict(temperature=1.5, sample_top_k=3)]
SHIPPED = {"eagle2": dict(top_k=2, depth=1, total_tokens=4), "chain": dict(policy="chain", length=2),
           "static": dict(policy="static", tree=[[0], [2], [2, 1]]), "plain": dict(policy="plain"),
           "cartesian": dict(policy="cartesian", widths=[2, 1]), "optimal": dict(policy="optimal", nodes=4, layers=2),
           "sequoia": dict(policy="sequoia", nodes=4, layers=2, rates=[[0.5, 0.3, 0.1]])}
OWN = {"bush": dict(policy=Bush()), "jump": dict(policy=Jump())}
CASES = {f"{name}-{number}": (policy, setting) for number, setting in enumerate(SETTINGS)
         for name, policy in (SHIPPED if number else SHIPPED | OWN).items()}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("five")
    target = make_target(folder / "target", seed=5, vocab_size=5, hidden_size=16, intermediate_size=16,
                         num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, initializer_range=0.45)
    return load_pair(target, make_head(folder / "head", target, scale=0.4), device="cpu")


@pytest.fixture(scope="module")
def eagle3(pair, tmp_path_factory):
    """An EAGLE-3 head of the same target, which can draft three of its five tokens."""
    folder = tmp_path_factory.mktemp("three")
    pair.target.model.save_pretrained(folder / "target")
    head = make_head3(folder / "head", folder / "target", scale=0.4, words=3, features=2, **{IDS: [0, 1]})
    return load_pair(folder / "target", head, device="cpu")


def exact(pair, setting, ids, count):
    """{tokens: probability} of what follows ids, by transformers alone; the cuts written out the slow way."""
    if not count:
        return {(): 1.0}
    with torch.inference_mode():
        logits = pair.target.model(torch.tensor([ids]), use_cache=False).logits[0, -1].double()
    p = (logits / setting["temperature"]).softmax(-1).tolist()
    ranked = sorted(range(len(p)), key=lambda i: -p[i])[: setting.get("sample_top_k")]
    mass, kept = sum(p[i] for i in ranked), []
    while ranked and sum(p[i] for i in kept) < setting.get("top_p", 1.0) * mass:
        kept.append(ranked.pop(0))
    whole = sum(p[i] for i in kept)
    return {(i, *rest): p[i] / whole * q
            for i in kept for rest, q in exact(pair, setting, [*ids, i], count - 1).items()}


class Course(Chance):
    """Takes the turns that it is told, then always the first; notes how many there were, and what the picks weighed."""

    def __init__(self, turns):
        self.turns, self.ways, self.weight = list(turns), [], 1.0

    def _turn(self, ways):
        self.ways.append(ways)
        if len(self.ways) > len(self.turns):
            self.turns.append(0)
        return self.turns[len(self.ways) - 1]

    def draw(self):
        return 1 - 2**-53 if self._turn(2) else 0.0

    def pick(self, p):
        possible = p.nonzero().flatten().tolist()
        token = possible[self._turn(len(possible))]
        self.weight *= float(p[token].double() / p.double().sum())
        return token


def courses(pair, config):
    """{tokens: probability} of the run, over all courses."""
    found, waiting = Counter(), [[]]
    while waiting:
        told = waiting.pop()
        course, emitted = Course(told), []
        for stage in decoder.rounds.at_once(pair, PROMPT, config, course):
            if isinstance(stage, decoder.Prefilled | decoder.Committed):
                emitted += stage.token_ids
            elif isinstance(stage, Accepted):
                for draw in stage.draws:
                    course.weight *= draw.p if draw.r == 0 else 1 - draw.p
        found[tuple(emitted)] += course.weight
        for place in range(len(told), len(course.ways)):
            waiting += [[*course.turns[:place], turn] for turn in range(1, course.ways[place])]
    return found


def distance(found, expected):
    """Total variation."""
    return sum(abs(found.get(cell, 0) - expected.get(cell, 0)) for cell in {*found, *expected}) / 2


@pytest.mark.parametrize(("policy", "setting"), CASES.values(), ids=CASES.keys())
def test_three_tokens_have_the_targets_distribution(pair, policy, setting):
    found = courses(pair, DecodeConfig(**policy, **setting, max_new_tokens=3))
    assert sum(found.values()) == pytest.approx(1, abs=1e-6)
    assert distance(found, exact(pair, setting, PROMPT, 3)) < 1e-5


@pytest.mark.parametrize("policy", [SHIPPED["eagle2"], SHIPPED["chain"]], ids=["eagle2", "chain"])
def test_a_token_that_cannot_be_drafted_is_as_likely_as_the_target_says(pair, eagle3, policy):
    setting = SETTINGS[0]
    found = courses(eagle3, DecodeConfig(**policy, **setting, max_new_tokens=3))
    expected = exact(pair, setting, PROMPT, 3)
    assert sum(found.values()) == pytest.approx(1, abs=1e-6) and distance(found, expected) < 1e-5
    never = {*range(5)} - set(eagle3.head.ids.tolist())
    assert len(never) == 2 and sum(p for tokens, p in expected.items() if never & {*tokens}) > 0.1


@pytest.mark.parametrize("policy", [SHIPPED["eagle2"], SHIPPED["chain"]], ids=["eagle2", "chain"])
def test_a_rule_that_forgets_what_was_rejected_is_seen(pair, policy, monkeypatch):
    """The bonus from all of the target's mass, the rejected children's too: a common mistake."""
    def wrong(tree, distribution, chance):
        path, draws = [0], []
        while True:
            p = distribution(path[-1])
            for node in (tree.parent == path[-1]).nonzero().flatten().tolist():
                draws.append(Draw(node, float(p[tree.token[node]]), chance.draw()))
                if draws[-1].accepted:
                    path.append(node)
                    break
            else:
                return Accepted(0, path, chance.pick(p), draws)

    monkeypatch.setattr(decoder, "accept_sampling", wrong)
    found = courses(pair, DecodeConfig(**policy, temperature=1.0, max_new_tokens=3))
    assert distance(found, exact(pair, SETTINGS[0], PROMPT, 3)) > 0.02
