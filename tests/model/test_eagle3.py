"""The EAGLE-3 head: the official code's inner numbers, transformers' hidden states, and its variants by their
formulas."""

import json
import threading
import warnings

import pytest
import torch
from eagle3_maker import GOLDEN3, IDS, WEIGHTS, Naive, make_head3
from pair_maker import make_head, make_target
from transformers import LlamaForCausalLM

from core import DecodeConfig, decode, generate, load_pair
from core.errors import DecodeError, PairWarning
from core.model import target as target_file
from core.model.head import Drafter

CASES = json.loads((GOLDEN3 / "internals.json").read_text())["cases"]
PROMPT = [1, 17, 42, 90, 3]
CONFIG = DecodeConfig(top_k=4, depth=3, total_tokens=20, max_new_tokens=16)


def close(ours, theirs, tolerance=2e-5):
    theirs = torch.as_tensor(theirs, dtype=torch.float32)
    torch.testing.assert_close(ours.detach(), theirs, rtol=0, atol=tolerance)


@torch.inference_mode()
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["head"])
def test_the_official_heads_inner_numbers(case):
    pair = load_pair(WEIGHTS / case["target"], WEIGHTS / case["head"], device="cpu", dtype="float32")
    head, cache = pair.head, pair.target.new_cache(64, pair.head.taps)
    assert list(head.taps) == case["boundaries"]
    hidden, features = pair.target.read(torch.tensor(case["prompt"]), cache)
    assert int(pair.target.logits(hidden[-1:]).argmax()) == case["root"]
    fed = torch.tensor([*case["prompt"][1:], case["root"]])
    assert fed.tolist() == case["fed_tokens"]
    close(features[-1].view(3, -1), case["features_last_row"])
    close(head.enter(features)[-1], case["fc_out_last_row"])
    close(head.attended(fed, head.enter(features))[1][-1], case["attention_in_last_row"])
    drafter = Drafter(head, pair.target, 64)
    state, logits = drafter.observe(fed, features)
    close(state[0], case["head_out_last_row"])
    close(head.norm(state[0]), case["normed_last_row"])
    place, value = (list(column) for column in zip(*case["logits_top5"]))
    close(logits[0, place], value)
    assert logits[0].topk(5).indices.tolist() == place
    close(logits[0].logsumexp(-1), case["logsumexp"])
    assert drafter.token_ids(torch.tensor(place)).tolist() == case["tokens_of_top5"]
    beam, eye = torch.tensor(case["beam0_tokens"]), torch.eye(3, dtype=torch.bool)
    out, logits = drafter.probe(beam, state.expand(3, -1), eye, 1)
    close(out, case["beam0_out"])
    # the second beam's rows hang off whichever rows of the first had the best children
    parents = drafter.logits(state).log_softmax(-1)[0, place[:3]]
    row = (parents[:, None] + logits.log_softmax(-1).topk(3).values).flatten().topk(3).indices // 3
    out, _ = drafter.probe(torch.tensor(case["beam1_tokens"]), out[row], torch.cat([eye[row], eye], dim=1), 2)
    close(out[0], case["beam1_out_row0"])


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return make_target(tmp_path_factory.mktemp("eagle3") / "target", num_hidden_layers=7)


@torch.inference_mode()
def test_features_are_transformers_hidden_states(target, tmp_path):
    """Of every boundary, below and above them all; of the last one, before the final norm."""
    ids = [0, 1, 3, 6, 7]
    pair = load_pair(target, make_head3(tmp_path / "head", target, features=5, **{IDS: ids}), device="cpu")
    model, seen = LlamaForCausalLM.from_pretrained(target), {}
    model.model.norm.register_forward_pre_hook(lambda _, args: seen.update(last=args[0][0]))
    states = model.model(torch.tensor([PROMPT]), output_hidden_states=True).hidden_states
    cache = pair.target.new_cache(32, pair.head.taps)
    _, features = pair.target.read(torch.tensor(PROMPT), cache)
    parts = features.split(pair.target.hidden_size, dim=1)
    for boundary, part in zip(ids, parts, strict=True):
        close(part, seen["last"] if boundary == 7 else states[boundary][0])
    plain = pair.target.new_cache(32)
    hidden, same = pair.target.read(torch.tensor(PROMPT), plain)
    assert same is hidden and not plain.taken, "nobody asked for states in between"


VARIANTS = [{}, {"norm_before_residual": True}, {"norm_before_fc": True}, {"fc_norm": True}, {"norm_output": True},
            {"norm_before_residual": True, "fc_norm": True, "norm_output": True}]

SHAPES = {"usual": {}, "wider": {"hidden": 48}, "full": {"words": 97},
          "head_dim": {"head_dim": 12, "rope_theta": 500.0},
          "two features": {IDS: [1, 6], "features": 2}}


@torch.inference_mode()
@pytest.mark.filterwarnings("ignore::core.errors.PairWarning")
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "+".join(v) or "plain")
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_score_is_that_of_the_formulas(target, tmp_path, variant, shape):
    """A whole run: the features by transformers, each candidate's path by itself through the definition."""
    folder = make_head3(tmp_path / "head", target, **variant, **shape)
    pair = load_pair(target, folder, device="cpu")
    trace = decode(pair, PROMPT, CONFIG)
    model = LlamaForCausalLM.from_pretrained(target)
    text = [*PROMPT, *trace.output.token_ids]
    states = model.model(torch.tensor([text]), output_hidden_states=True).hidden_states
    features = torch.cat([states[b][0] for b in shape.get(IDS, (2, 3, 4))], -1)
    naive = Naive(folder, pair.head.embed.weight, **variant)
    word = {int(token): place for place, token in enumerate(naive.ids)}
    for r in (trace.rounds[0], trace.rounds[-1]):
        n, c = r.prefix_length, r.candidates
        for i in [0, 1, *range(len(c.token) - 1, 0, -7)]:
            path = [i + 1]
            while c.parent[path[0] - 1]:
                path.insert(0, c.parent[path[0] - 1])
            tokens = [c.token[j - 1] for j in path]
            said = naive.path(text[1 : n + 1], features[:n], tokens[:-1])
            score = sum(float(p[word[token]]) for p, token in zip(said, tokens))
            assert c.score[i] == pytest.approx(score, abs=1e-4)
    first = trace.rounds[0].candidates.log_prob[:4]
    best = naive.path(text[1 : len(PROMPT) + 1], features[: len(PROMPT)], [])[0].topk(4).values
    assert first == pytest.approx(best.tolist(), abs=1e-4), "the likeliest ones"


def test_any_head_is_lossless_in_pieces_and_whole(target, tmp_path, monkeypatch):
    pair = load_pair(target, make_head3(tmp_path / "head", target), device="cpu")
    prompt = [1, *((5 + 7 * i) % 97 for i in range(40))]
    whole = decode(pair, prompt, CONFIG)
    assert whole.output.token_ids == generate(pair, prompt, CONFIG.plainly())
    monkeypatch.setattr(target_file, "PIECE", 9)
    pieces = decode(pair, prompt, CONFIG)
    assert pieces.output.token_ids == whole.output.token_ids
    for one, other in zip(whole.rounds, pieces.rounds, strict=True):
        assert one.candidates.token == other.candidates.token
        assert one.candidates.score == pytest.approx(other.candidates.score, abs=1e-3)


@pytest.mark.parametrize("policy", [{"policy": "chain", "length": 4}, {"policy": "plain"}, {}])
def test_policies_do_not_know_which_head_drafts(target, tmp_path, policy):
    pair = load_pair(target, make_head3(tmp_path / "head", target), device="cpu")
    trace = decode(pair, PROMPT, DecodeConfig(**policy, max_new_tokens=12))
    assert trace.output.token_ids == generate(pair, PROMPT, DecodeConfig("plain", max_new_tokens=12))
    assert trace.pair.head.model_dump() == {"kind": "eagle3", "layers": [2, 3, 4], "vocab_size": 40}
    drafted = {token for r in trace.rounds for token in r.candidates.token}
    assert drafted <= set(pair.head.ids.tolist())


def test_two_runs_at_once_take_their_own_states(target, tmp_path):
    """One target, two heads that read other layers of it, each in a thread of its own."""
    first = load_pair(target, make_head3(tmp_path / "a", target), device="cpu")
    second = load_pair(target, make_head3(tmp_path / "b", target, **{IDS: [1, 2, 6]}), device="cpu")
    second.target.__dict__.update(first.target.__dict__)  # the same model behind both
    alone = [decode(pair, PROMPT, CONFIG).rounds for pair in (first, second)]
    together = [None, None]

    def run(i, pair):
        together[i] = [decode(pair, PROMPT, CONFIG).rounds for _ in range(3)]

    threads = [threading.Thread(target=run, args=each) for each in enumerate((first, second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, several in zip(alone, together):
        for rounds in several:
            assert [r.candidates for r in rounds] == [r.candidates for r in one]


def test_what_such_a_head_refuses_of_a_run(target, tmp_path):
    pair = load_pair(target, make_head3(tmp_path / "head", target, words=8), device="cpu")
    with pytest.raises(DecodeError, match=r"9 children.*draft vocabulary of the head.*only 8 tokens"):
        generate(pair, PROMPT, DecodeConfig(top_k=9, depth=1, total_tokens=5))
    with pytest.raises(DecodeError, match=r"draft_vocab is 20.*own draft vocabulary of 8 tokens.*give 0"):
        generate(pair, PROMPT, DecodeConfig(top_k=4, depth=1, total_tokens=5, draft_vocab=20))


@pytest.mark.parametrize("make", [make_head, make_head3])
def test_a_text_longer_than_the_training_is_said_once(target, tmp_path, make):
    pair = load_pair(target, make(tmp_path / "head", target, max_position_embeddings=8), device="cpu")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        tokens = generate(pair, PROMPT, CONFIG)
    assert [w.category for w in said] == [PairWarning] and "8 tokens that the head" in str(said[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tokens == generate(pair, PROMPT, CONFIG.plainly()), "what drafts nothing has nothing to say"
        generate(pair, PROMPT, CONFIG.but(max_new_tokens=4))
