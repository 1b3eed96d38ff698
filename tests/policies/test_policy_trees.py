"""The trees of the policies, held against the head asked the long way; and policies that somebody else wrote."""

import sys

import pytest
import torch
from cli import IDS, PAIR

import core.limits
from core import DecodeConfig, DecodeError, decode, generate
from core.cli.main import main
from core.errors import UserError
from core.policies import SHIPPED, find
from core.policies.policy import Bounds, Knob, Policy
from core.trace import Trace
from core.tree import Layer, expand

PROMPT = [1, 115, 57, 198, 43]


def features_of(pair, ids):
    """[n, hidden] by transformers itself: after the final norm."""
    with torch.inference_mode():
        return pair.target.model.model(torch.tensor([ids]), use_cache=False).last_hidden_state[0]


def head_says(pair, tokens, features):
    """The whole sequence through the head without a cache -> log-probabilities [rows, vocab] and the features it predicts."""
    rows = len(tokens)
    with torch.inference_mode():
        out = pair.head(torch.tensor([tokens]), features[None], torch.arange(rows)[None],
                        torch.ones(1, 1, rows, rows, dtype=torch.bool).tril())[0]
        return pair.target.model.lm_head(out).log_softmax(-1), out


def drafted(pair, ids, count):
    """The chain that the head draws up after ids, the root last: (token, log-probability) each."""
    tokens, features, found = ids[1:], features_of(pair, ids[:-1]), []
    for _ in range(count):
        said, out = head_says(pair, tokens, features)
        token = int(said[-1].argmax())
        found.append((token, float(said[-1, token])))
        tokens, features = [*tokens, token], torch.cat([features, out[-1:]])
    return found


@pytest.mark.parametrize("which", ["golden_pair", "random_pair"])
@pytest.mark.parametrize("length", [1, 4])
def test_a_chain_is_the_heads_own_greedy_continuation(which, length, request):
    pair = request.getfixturevalue(which)
    prompt = [token % pair.target.vocab_size for token in PROMPT]
    trace = decode(pair, prompt, DecodeConfig("chain", length=length, max_new_tokens=16))
    decided = prompt + trace.output.token_ids
    assert len(trace.rounds) > 1
    for r in trace.rounds:
        expected = drafted(pair, decided[: r.prefix_length + 1], length)
        assert r.candidates.token == [token for token, _ in expected]
        assert r.candidates.log_prob == pytest.approx([p for _, p in expected], abs=1e-3)
        assert r.candidates.parent == list(range(length)) and r.tree.position_ids == list(
            range(r.prefix_length, r.prefix_length + length + 1))
        assert [layer.passes for layer in r.layers] == [1] * length
    assert trace.summary.head_forwards == length * len(trace.rounds)


def test_plain_asks_the_head_nothing(golden_pair, monkeypatch):
    monkeypatch.setattr(type(golden_pair.head), "forward", lambda *_, **__: 1 / 0)
    monkeypatch.setattr(type(golden_pair.head), "remember", lambda *_, **__: 1 / 0)
    trace = decode(golden_pair, PROMPT, DecodeConfig("plain", max_new_tokens=8))
    assert len(trace.rounds) == 7 and trace.summary.head_forwards == 0 and trace.summary.tau == 1
    assert all(r.tree.candidate == [0] and r.tree.cutoff is None and r.cache.kept == [0] for r in trace.rounds)


def test_every_policy_writes_the_same_text(golden_pair):
    texts = [generate(golden_pair, PROMPT, DecodeConfig(name, max_new_tokens=40)) for name in SHIPPED]
    assert all(text == texts[0] for text in texts) and len(texts[0]) == 40


# -- policies of somebody else's ------------------------------------------------------------------------------------------

class Bush(Policy):
    """Two children of the root, of which only the second is fed again, then both of its children: 1, 1, 2 rows a layer."""

    name = "bush"

    def bounds(self, knobs):
        return Bounds(passes=3, candidates=8, rows=9, depth=3, head_rows=3, children=2)

    def grow(self, drafter, token_ids, features, config):
        return _fed(drafter, token_ids, features, [[0], [2], [3, 4]])


class Jump(Policy):
    """The second pass feeds nodes of two depths at once."""

    name = "jump"
    knobs = {"width": Knob(2, least=2, most=9)}

    def bounds(self, knobs):
        width = knobs["width"]
        return Bounds(passes=3, candidates=4 * width, rows=4 * width + 1, depth=3, head_rows=3, children=width)

    def grow(self, drafter, token_ids, features, config):
        return _fed(drafter, token_ids, features, [[0], [1], [2, 1 + config.width]], config.width)


def _fed(drafter, token_ids, features, plan, width=2):
    """Feeds the nodes of the plan, layer by layer; every one gets its likeliest children."""
    feature, logits = drafter.observe(token_ids, features)
    nodes = [dict(token=None, depth=0, feature=feature[0], score=0.0, sees=[])]  # sees: the places of its fed ancestors
    fed = 0
    for number, layer in enumerate(plan):
        if number:
            rows = [nodes[i] for i in layer]
            mask = torch.zeros(len(rows), fed + len(rows), dtype=torch.bool)
            for place, node in enumerate(rows):
                node["sees"] = [*node["sees"], fed + place]
                mask[place, node["sees"]] = True
            out, logits = drafter.probe(torch.stack([node["token"] for node in rows]),
                                        torch.stack([node["from"] for node in rows]), mask,
                                        torch.tensor([node["depth"] for node in rows]))
            fed += len(rows)
            for node, own in zip(rows, out):
                node["feature"] = own
        token, log_prob, score = expand(logits, torch.tensor([nodes[i]["score"] for i in layer]), width)
        for place, i in enumerate(layer):
            for child in range(width):
                nodes.append({"token": token[place, child], "depth": nodes[i]["depth"] + 1, "from": nodes[i]["feature"],
                              "score": float(score[place, child]), "sees": nodes[i]["sees"]})
        following = plan[number + 1] if number + 1 < len(plan) else []
        yield Layer(torch.tensor(layer), token.flatten(), torch.tensor(layer).repeat_interleave(width), log_prob.flatten(),
                    score.flatten(), torch.tensor(following, dtype=torch.long))


@pytest.mark.parametrize("policy", [Bush(), Jump()], ids=lambda policy: policy.name)
@pytest.mark.parametrize("which", ["golden_pair", "weak_pair"])
def test_layers_of_any_shape_are_lossless_and_fed_in_their_places(policy, which, request):
    pair = request.getfixturevalue(which)
    trace = decode(pair, PROMPT, DecodeConfig(policy, max_new_tokens=30))
    assert trace.output.token_ids == generate(pair, PROMPT, DecodeConfig("plain", max_new_tokens=30))
    decided = PROMPT + trace.output.token_ids
    for r in trace.rounds[:3]:  # each fed node says what the head says along its path alone
        for node in {parent for parent in r.candidates.parent if parent}:
            path = [node]
            while r.candidates.parent[path[0] - 1]:
                path.insert(0, r.candidates.parent[path[0] - 1])
            ids, tokens = decided[: r.prefix_length + 1], [r.candidates.token[i - 1] for i in path]
            features = features_of(pair, ids[:-1])
            for _ in tokens:  # the features that the head predicts for itself
                said, out = head_says(pair, (ids[1:] + tokens)[: len(features)], features)
                features = torch.cat([features, out[-1:]])
            said, _ = head_says(pair, ids[1:] + tokens, features)
            children = [i for i, parent in enumerate(r.candidates.parent) if parent == node]
            assert [r.candidates.token[i] for i in children] == said[-1].topk(len(children)).indices.tolist()
            assert [r.candidates.log_prob[i] for i in children] == pytest.approx(said[-1].topk(len(children)).values.tolist(), abs=1e-3)
    assert Trace.from_text(trace.to_lines()) == trace


def test_one_of_a_file_of_ones_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "stairs", raising=False)
    (tmp_path / "stairs.py").write_text(
        "from core.policies.chain import Chain\nfrom core.policies.policy import Knob\n"
        "class Stairs(Chain):\n    exact = False\n    knobs = {'length': Knob(3, least=1, most=9), 'steps': Knob(2)}\n")
    run = ["run", *PAIR, *IDS, "--max-new-tokens", "12", "--policy", "stairs:Stairs", "--knob", "steps=5", "--length", "2"]
    assert main([*run, "--check", "--trace", "t.json"]) == 0
    assert "stairs:Stairs (length 2, steps 5)" in capsys.readouterr().out
    monkeypatch.delitem(sys.modules, "stairs")
    trace = Trace.load("t.json")
    assert "stairs" not in sys.modules and trace.config["steps"] == 5 and trace.check.lossless
    assert main(["show", "t.json"]) == 0


@pytest.mark.parametrize(("policy", "words"), [
    ("eagle9", ["There is no policy 'eagle9'", ", ".join(SHIPPED)]),
    ("no_such_module:x", ["no_such_module", "ModuleNotFoundError"]),
    ("math:pi", ["is no policy", "Policy"]),
    ("math:nothing", ["math:nothing", "AttributeError"]),
    (7, ["policy is 7"]),
])
def test_what_is_no_policy_is_one_sentence(policy, words):
    with pytest.raises(UserError) as error:
        DecodeConfig(policy)
    assert all(word in str(error.value) for word in words) and "\n" not in str(error.value)


def test_a_file_that_breaks_is_one_sentence_and_ours_keeps_its_name(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_policy.py").write_text("raise ValueError('one\\ntwo')\n")
    with pytest.raises(UserError, match="ValueError: one two\\); give module:object"):
        DecodeConfig("broken_policy:x")
    assert DecodeConfig("core.policies.chain:POLICY").policy == "core.policies.chain:POLICY"
    assert DecodeConfig("chain").policy == "chain"


@pytest.mark.parametrize(("settings", "words"), [
    (dict(policy="chain", top_k=3), ["top_k", "chain", "length"]),
    (dict(policy="plain", length=3), ["length", "plain", "none"]),
    (dict(policy="chain", length=0), ["length is 0", "1 or more"]),
    (dict(policy="chain", length=2.5), ["length is 2.5", "whole number"]),
    (dict(width=3), ["width", "eagle2"]),
])
def test_knobs_that_a_policy_does_not_take_are_one_sentence(settings, words):
    with pytest.raises(UserError) as error:
        DecodeConfig(**settings)
    assert all(word in str(error.value) for word in words) and str(error.value).endswith(".")


def test_settings_of_a_policy_are_values():
    chain = DecodeConfig("chain", length=3)
    assert chain.length == 3 and chain == DecodeConfig(policy="chain", length=3) != DecodeConfig("chain")
    assert DecodeConfig.from_dict(chain.to_dict()) == chain and chain.but(seed=4).to_dict()["seed"] == 4
    assert chain.plainly().to_dict() == DecodeConfig("plain").to_dict() and find("chain") is find("chain")
    with pytest.raises(AttributeError, match="but"):
        chain.length = 4
    with pytest.raises(AttributeError, match="top_k"):
        assert chain.top_k


@pytest.mark.parametrize("settings", [dict(top_k=3, depth=2, total_tokens=7), dict(top_k=3, depth=4, total_tokens=1),
                                      dict(policy="chain", length=4), dict(policy="static"), dict(policy="plain"),
                                      dict(policy=Bush())],
                         ids=lambda s: str(s.get("policy", "eagle2"))[:9])
@pytest.mark.parametrize("most", [9, 1000])
def test_the_caches_are_as_large_as_they_need_to_be(settings, most, random_pair, monkeypatch):
    """To the end of the answer, and to the end of the context: a row less, and one of them overflows."""
    context = random_pair.target.context
    prompt = PROMPT if most == 9 else list(range(5, 5 + context - 40))
    prompt = [token % random_pair.target.vocab_size for token in prompt]
    config = DecodeConfig(**settings, max_new_tokens=most)
    assert len(generate(random_pair, prompt, config)) == 9 or most == 1000
    enough = core.limits.rows_needed
    monkeypatch.setattr("core.decoder.rows_needed", lambda *of: enough(*of) - 1)
    with pytest.raises((AssertionError, DecodeError)):
        for n in range(2, most + 1 if most == 9 else 3):  # whatever is accepted in the end, one of these ends where it is tight
            generate(random_pair, prompt, config.but(max_new_tokens=n if most == 9 else most))
