"""Numbers that stop being finite: what is drafted is only rejected, and a run ends where the target's own numbers do."""

import shutil

import pytest
import torch
from cli import IDS, PAIR, call, decode, refused
from pair_maker import GOLDEN, make_head, make_target
from safetensors.torch import load_file, save_file
from test_sampling import Fixed, tree_of_three
from transformers import LlamaForCausalLM

from core import DecodeConfig, Trace, load_pair
from core import decode as decode_
from core.errors import PairWarning
from core.measure.check import check
from core.tree import UNLIKELY, Candidates, expand, flatten
from core.verify import Chance, accept_sampling

PROMPT = [5, 6, 7, 8]
SMALL = DecodeConfig(top_k=4, depth=3, total_tokens=20, max_new_tokens=24)


def poisoned(directory, copy, change):
    shutil.copytree(directory, copy)
    tensors = load_file(copy / "model.safetensors")
    change(tensors)
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    return copy


def broken_run(capsys, tmp_path, target, head, name, *words):
    out = refused(capsys, ["run", "--target", target, "--draft", head, "--device", "cpu", *IDS, "--top-k", "4", "--depth",
                           "3", "--trace", tmp_path / name], "not finite", "float32", *words)
    assert "ended by cancelled" in out
    assert call(capsys, "check-trace", tmp_path / name)[0] == 0
    trace = Trace.load(tmp_path / name)
    assert trace.output.finish_reason == "cancelled"
    return trace


# -- whose weights they are --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["run.json", "run.jsonl", "run.json.gz"])
def test_nan_in_the_target_is_named_in_the_prefill(capsys, tmp_path, name):
    target = poisoned(GOLDEN / "weights/target", tmp_path / "nan", lambda t: t["lm_head.weight"][7].fill_(torch.nan))
    trace = broken_run(capsys, tmp_path, target, GOLDEN / "weights/head_bias", name, "The target", "in the prefill")
    assert trace.rounds == [] and trace.prompt.token_ids == [5, 17, 3, 8]


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_nan_in_the_head_is_named_with_its_round(capsys, tmp_path, value):
    head = poisoned(GOLDEN / "weights/head_bias", tmp_path / "nan", lambda t: t["fc.weight"][0].fill_(value))
    trace = broken_run(capsys, tmp_path, GOLDEN / "weights/target", head, "run.json", "The head", "in round 1")
    assert trace.rounds == []


def test_the_library_keeps_it_too():
    from core import DecodeInterrupted
    pair = load_pair(GOLDEN / "weights/target", GOLDEN / "weights/head_bias", device="cpu")
    with torch.no_grad():
        pair.head.fc.weight.fill_(torch.nan)
    with pytest.raises(DecodeInterrupted, match=r"The head .* in round 1") as caught:
        decode_(pair, [5, 17])
    assert caught.value.trace.output.finish_reason == "cancelled"


def embedding(directory):
    return load_file(directory / "model.safetensors")["model.embed_tokens.weight"].clone()


def late_poison(capsys, tmp_path):
    """A token that in a run of the golden pair (free.json) first turns up in a later round, nowhere earlier."""
    decode(capsys, *PAIR, *IDS, "--top-k", "4", "--depth", "3", "--trace", tmp_path / "free.json")
    rounds = Trace.load(tmp_path / "free.json").rounds
    seen = {5, 17, 3, 8}
    for r in rounds:
        if r.index and r.root not in seen and r.index > 1:
            return r.root
        seen |= {r.root, *r.candidates.token}
    raise AssertionError("no token comes up late; take another prompt")


@pytest.mark.parametrize("name", ["run.json", "run.jsonl"])
def test_a_head_that_cannot_read_one_token_ends_nothing(capsys, tmp_path, name):
    """A head with an embedding of its own, poisoned where the run comes only later; the target is sound."""
    token = late_poison(capsys, tmp_path)
    own = embedding(GOLDEN / "weights/target")
    own[token] = torch.nan
    head = poisoned(GOLDEN / "weights/head_bias", tmp_path / "nan", lambda t: t.update({"embed_tokens.weight": own}))
    code, _, err = call(capsys, "run", "--target", GOLDEN / "weights/target", "--draft", head, "--device", "cpu", *IDS,
                        "--top-k", "4", "--depth", "3", "--check", "--trace", tmp_path / name)
    assert code == 0 and all(line.startswith("note: ") for line in err.splitlines())
    assert f"equal to the target's in {len(own) - 1} of {len(own)} rows" in err
    trace = Trace.load(tmp_path / name)
    assert trace.check.lossless and trace.output.token_ids == Trace.load(tmp_path / "free.json").output.token_ids


def test_a_run_ends_where_the_targets_own_numbers_do(capsys, tmp_path):
    """The target's embedding of a token that it says itself is poisoned: the token is out, what follows it is unknown."""
    token = late_poison(capsys, tmp_path)
    said = Trace.load(tmp_path / "free.json").output.token_ids
    before = said[: said.index(token) + 1]
    target = poisoned(GOLDEN / "weights/target", tmp_path / "target",
                      lambda t: t["model.embed_tokens.weight"][token].fill_(torch.nan))
    head = poisoned(GOLDEN / "weights/head_bias", tmp_path / "head", lambda t: t.pop("embed_tokens.weight"))
    trace = broken_run(capsys, tmp_path, target, head, "run.jsonl", "The target", f"not finite after token {token} in round ")
    assert trace.output.token_ids == before
    pair = load_pair(target, head, device="cpu")
    short = DecodeConfig(top_k=4, depth=3, total_tokens=20, max_new_tokens=len(before))
    whole = decode_(pair, [5, 17, 3, 8], short)
    assert (whole.output.token_ids, whole.output.finish_reason) == (before, "length"), "nothing after it is wanted"
    stop = DecodeConfig(top_k=4, depth=3, total_tokens=20, stop_ids=(token,))
    assert decode_(pair, [5, 17, 3, 8], stop).output.token_ids == before


def test_the_first_token_may_be_the_last_that_is_known(capsys, tmp_path):
    """Its word is in the trace although no round is."""
    first = decode_(load_pair(GOLDEN / "weights/target", GOLDEN / "weights/head_bias", device="cpu"), [5, 17, 3, 8],
                    DecodeConfig(max_new_tokens=1)).output.token_ids
    target = poisoned(GOLDEN / "weights/target", tmp_path / "target",
                      lambda t: t["model.embed_tokens.weight"][first[0]].fill_(torch.nan))
    head = poisoned(GOLDEN / "weights/head_bias", tmp_path / "head", lambda t: t.pop("embed_tokens.weight"))
    for name in ("run.json", "run.jsonl"):
        trace = broken_run(capsys, tmp_path, target, head, name, "The target", f"after token {first[0]} in round 1;")
        assert trace.rounds == [] and trace.output.token_ids == first and str(first[0]) in trace.vocabulary


# -- tokens that were never trained ------------------------------------------------------------------------------------


def by_transformers(directory, dtype, count=24):
    model = LlamaForCausalLM.from_pretrained(directory, dtype=dtype).eval()
    ids = torch.tensor([PROMPT])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=count, pad_token_id=0)
    return out[0, len(PROMPT):].tolist()


def untrained(tmp_path, value, dtype, share=0.7):
    """A random pair, and most tokens that its text does without overwritten; the tokens, and what the target says."""
    target = make_target(tmp_path / "sound", vocab_size=200)
    usual = by_transformers(target, torch.float32)
    bad = [i for i in range(200) if i not in {*usual, *PROMPT}][: int(200 * share)]
    target = poisoned(target, tmp_path / "target", lambda t: t["model.embed_tokens.weight"].__setitem__(bad, value))
    pair = load_pair(target, make_head(tmp_path / "head", target), device="cpu", dtype=dtype)
    return pair, bad, by_transformers(target, getattr(torch, dtype))


@pytest.mark.parametrize("value, dtype", [(torch.nan, "float32"), (torch.inf, "float32"), (-torch.inf, "bfloat16"),
                                          (1e38, "float32"), (6e4, "float16"), (1e38, "bfloat16")])
def test_tokens_that_were_never_trained_are_only_rejected(tmp_path, value, dtype):
    pair, bad, expected = untrained(tmp_path, value, dtype)
    trace = decode_(pair, PROMPT, SMALL)
    assert trace.output.token_ids == expected and trace.output.finish_reason == "length"
    assert {*bad} & {token for r in trace.rounds for token in r.tokens}, "some of them were drafted and kept"
    assert check(pair, PROMPT, SMALL, trace.output.token_ids)["lossless"]


def test_sound_rows_are_what_they_are_without_the_others(tmp_path):
    pair, bad, _ = untrained(tmp_path, torch.nan, "float32")
    good = [i for i in range(200) if i not in bad]
    a, b, c, d = good[0], bad[0], good[1], good[2]
    #        root: a, b, c;  a: d, b;  b: c
    columns = [[a, b, c, d, b, c], [0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 1]]
    candidates = Candidates(*(torch.tensor(column) for column in columns), torch.arange(-1.0, -7.0, -1))
    tree = flatten(PROMPT[0], candidates, torch.arange(6))
    cache = pair.target.new_cache(40)
    with torch.inference_mode():
        pair.target.read(torch.tensor(PROMPT), cache)
        assert pair.target.verify(tree, cache)[0].isnan().all(), "one bad row spoils all"
        logits, _, sound = pair.target.verify_apart(tree, cache)
        assert sound.tolist() == [True, True, False, True, True, False, False]
        assert logits[~sound].isnan().all() and cache.guard is None
        for path in ([0], [0, 1], [0, 3], [0, 1, 4]):
            text = torch.tensor(PROMPT + tree.token[path].tolist())
            alone = pair.target.read(text, pair.target.new_cache(40))[0]
            torch.testing.assert_close(logits[path[-1]], pair.target.logits(alone)[-1], rtol=1e-4, atol=1e-4)


def test_one_bad_guess_leaves_the_heads_others_what_they_are(tmp_path):
    """The scores of the sound paths are those of a head to which nothing happened."""
    pair, bad, _ = untrained(tmp_path, torch.nan, "float32", share=0.1)
    plain = load_pair(tmp_path / "sound", tmp_path / "head", device="cpu")
    ours, theirs = (decode_(p, PROMPT, SMALL).rounds[0].candidates for p in (pair, plain))
    assert {*bad} & {*theirs.token}, "a bad token among the guesses"
    spoilt = {i + 1 for i, token in enumerate(theirs.token) if token in bad}
    assert ours.token[:4] == theirs.token[:4] and ours.score[:4] == theirs.score[:4]
    children = [i for i in range(4, 20) if theirs.parent[i] not in spoilt]
    assert len(children) >= 4 and [ours.token[i] for i in children] == [theirs.token[i] for i in children]
    assert [ours.score[i] for i in children] == pytest.approx([theirs.score[i] for i in children], abs=1e-4)
    assert all(ours.log_prob[i] == UNLIKELY for i in range(4, 20) if i not in children)


def test_guesses_that_are_no_numbers_are_unlikely():
    logits = torch.tensor([[1.0, 3.0, 2.0], [torch.nan, 1.0, 0.0], [torch.inf, 1.0, 0.0], [-torch.inf] * 3])
    token, log_prob, score = expand(logits, torch.tensor([-1.0, -1.0, -1.0, UNLIKELY]), 2)
    assert token[0].tolist() == [1, 2] and torch.allclose(log_prob[0], logits[0].log_softmax(0)[[1, 2]])
    assert (log_prob[1:] == UNLIKELY).all() and score.isfinite().all() and score[3, 0] == 2 * UNLIKELY


def test_sampling_keeps_the_targets_distribution_past_a_row_that_is_not_sound():
    p, sound = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([True, False, True, True])
    accepted = accept_sampling(tree_of_three(), lambda row: p, Fixed(0.0, 0.99, 0.99), sound)
    assert [d.p for d in accepted.draws] == pytest.approx([0, 0.3, 0.4 / 0.7]) and accepted.bonus == 1
    chance, counts = Chance(0), [0] * 4
    for _ in range(4000):
        said = accept_sampling(tree_of_three(), lambda row: p, chance, sound)
        counts[tree_of_three().token[said.path[1]] if len(said.path) > 1 else said.bonus] += 1
    assert [n / 4000 for n in counts] == pytest.approx(p.tolist(), abs=0.03)


def test_a_head_that_drafts_no_number_at_all_is_told_once(tmp_path):
    """Its weights are finite, what they make of this target is not: plain decoding, and a note."""
    target = make_target(tmp_path / "target")
    head = make_head(tmp_path / "head", target)
    pair = load_pair(target, poisoned(head, tmp_path / "large", lambda t: t["fc.weight"].mul_(1e38)), device="cpu")
    with pytest.warns(PairWarning, match=r"The head of target \+ large drafts what is not finite.*float32") as told:
        trace = decode_(pair, PROMPT, SMALL)
    assert len({str(note.message) for note in told}) == 1 and trace.summary.tau == 1
    assert trace.output.token_ids == by_transformers(target, torch.float32)
