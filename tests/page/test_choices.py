"""What the form offers: pairs and their cost, ready-made trees, bounds."""

import json

import pytest

from core.errors import UserError
from core.pairs.named import PAIRS
from treeviz.page import choices
from treeviz.page.choices import (
    BOUNDS,
    PAPER,
    Source,
    chats,
    config_of,
    cost,
    examples,
    pairs_on_offer,
    preset_of,
    request_of,
    tree,
    vocabularies,
)


@pytest.mark.parametrize("name, value, said", [
    ("top_k", 99, "top_k is 99; give a number from 1 to 16."),
    ("depth", -1, "depth is -1; give a number from 0 to 10."),
    ("max_new_tokens", 1e9, "max_new_tokens is 1e+09; give a number from 1 to 2,048."),
    ("temperature", float("nan"), "temperature is nan; give a number from 0 to 2."),
    ("seed", None, "seed is empty; give a number from 0"),
    ("top_p", "much", 'top_p is "much"; give a number from 0.05 to 1.'),
    ("top_k", True, "top_k is true; give a number from 1 to 16."),
    ("depth", "", "depth is empty; give a number from 0 to 10."),
    ("top_k", 2.5, "top_k is 2.5; give a whole number from 1 to 16."),
    ("total_tokens", 3.7, "total_tokens is 3.7; give a whole number from 1 to 2,576."),
    ("max_new_tokens", 1.0000001, "max_new_tokens is 1.0000001; give a whole number from 1 to 2,048."),
    ("seed", 1.5, "seed is 1.5; give a whole number from 0"),
    ("seed", 10**400, "seed is 1" + "0" * 38 + "…; give a number from 0 to"),
    ("seed", -10**400, "seed is -1" + "0" * 37 + "…; give a number from 0 to"),
    pytest.param("temperature", 10**5000, "temperature is <int>; give a number from 0 to 2.", id="more digits than Python writes"),
    ("top_k", {"en": 4}, 'top_k is {"en": 4}; give a number from 1 to 16.'),
    ("depth", "\x1b[31m\u202e\ud800层", 'depth is "\\u001b[31m\\u202e\\ud800层"; give a number from 0 to 10.'),
])
def test_a_number_that_cannot_be_used_is_a_sentence(name, value, said):
    with pytest.raises(UserError) as error:
        config_of({name: value})
    assert str(error.value).startswith(said)


@pytest.mark.parametrize("chat, shown", [("yes", '"yes"'), (1, "1"), (0, "0"), (None, "null"), ({"en": True}, '{"en": true}')])
def test_chat_is_true_or_false(chat, shown):
    with pytest.raises(UserError) as error:
        request_of("storybook", "a", chat, {})
    assert str(error.value) == f"chat is {shown}; give true or false." and error.value.said["zh"].startswith(f"chat 为 {shown}；")
    with pytest.raises(UserError, match=r"^compare is "):
        request_of("storybook", "a", False, {}, compare=chat)


@pytest.mark.parametrize("prompt", [None, 5, ["a"], {"en": "a"}, b"a"])
def test_a_prompt_is_text(prompt):
    with pytest.raises(UserError, match="The prompt is not text"):
        request_of("storybook", prompt, False, {})


def test_numbers_as_a_browser_sends_them():
    config = config_of({"top_k": 4.0, "depth": 2.0, "total_tokens": 36.0, "temperature": 1, "draft_vocab": 512, "seed": 3})
    assert (config.top_k, config.total_tokens, config.temperature, config.draft_vocab) == (4, 36, 1.0, 512)
    with pytest.raises(UserError, match="only 36 candidates"):
        config_of({"top_k": 4, "depth": 2, "total_tokens": 37})


def test_a_request_is_plain_and_its_prompt_is_not_endless():
    assert request_of("storybook", "a", True, {"top_k": 8})["config"]["top_k"] == 8
    with pytest.raises(UserError, match="20,001 characters; give 20,000"):
        request_of("storybook", "a" * 20_001, False, {})


def test_whoever_hosts_the_page_bounds_its_runs():
    short = Source(longest=40)
    assert request_of("storybook", "a", False, {"max_new_tokens": 40}, short)["config"]["max_new_tokens"] == 40
    with pytest.raises(UserError, match="max_new_tokens is 41; give a number from 1 to 40"):
        request_of("storybook", "a", False, {"max_new_tokens": 41}, short)
    assert request_of("storybook", "a", False, {"max_new_tokens": 2048})


def test_ready_made_trees():
    assert tree("smollm2-135m", "paper") == PAPER == {"top_k": 10, "depth": 5, "total_tokens": 59, "draft_vocab": 0}
    for name, entry in PAIRS.items():
        small = tree(name, "cpu")
        assert (small is None) == (entry.cpu is None)
        if small:
            config_of(small)
            assert preset_of(name, small) == "cpu" and small["draft_vocab"] in vocabularies(name)
            assert small["total_tokens"] < PAPER["total_tokens"]
    assert preset_of("storybook", PAPER) == "paper" and preset_of("storybook", PAPER | {"depth": 1}) is None
    assert tree("mine + yours", "cpu") is None


def test_draft_vocabularies_are_what_the_head_ranks(tmp_path):
    (tmp_path / "draft_vocab.json").write_text(json.dumps({"token_ids": list(range(100))}))
    assert vocabularies("mine", str(tmp_path)) == [0, 100, 50, 25]
    assert vocabularies("vicuna-7b") == [0]
    for size in vocabularies("smollm2-135m"):
        assert size == 0 or size >= BOUNDS["top_k"][1]


def test_large_pairs_are_offered_where_there_is_a_gpu(monkeypatch):
    monkeypatch.setattr(choices, "_has_gpu", lambda device: device != "cpu")
    monkeypatch.setattr("core.pairs.named._in_hub_cache", lambda repository: False)
    small = [name for name, entry in PAIRS.items() if not entry.gpu]
    offered = pairs_on_offer(Source("storybook", device="cpu"))
    assert {"storybook", "smollm2-135m"} <= set(small) and offered[0] == "storybook" and sorted(offered) == sorted(small)
    assert "vicuna-7b" in pairs_on_offer(Source()) and pairs_on_offer(Source())[0] == "smollm2-135m"
    assert pairs_on_offer(Source("vicuna-7b", device="cpu"))[0] == "vicuna-7b", "who asks for it gets it"
    assert pairs_on_offer(Source(None, "a", "b", "cpu"))[0] == "a + b"
    monkeypatch.setattr("core.pairs.named._in_hub_cache", lambda repository: True)
    assert "vicuna-7b" in pairs_on_offer(Source(device="cpu"))


def test_what_a_pair_costs_is_said_before(monkeypatch):
    monkeypatch.setattr("core.pairs.smollm2.here", lambda: False)
    monkeypatch.setattr("core.pairs.named._in_hub_cache", lambda repository: False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert "In the repository" in cost("storybook") and "at once" in cost("storybook", loaded=True)
    assert "fetches 15 GB, once" in cost("vicuna-7b") and "wants a GPU" in cost("vicuna-7b") and "Licence" in cost("vicuna-7b")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "HF_HUB_OFFLINE" in cost("vicuna-7b")
    assert "loads it" in cost("mine + yours")


def test_prompts_that_suit_the_pair():
    assert chats("smollm2-135m") and examples("smollm2-135m")[0].endswith("?")
    assert not chats("storybook") and examples("storybook")[0] == "Once upon a time"
