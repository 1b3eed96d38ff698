"""What token ids say: entries of the vocabulary, and the text of a sequence as it grows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_tokenizers import byte_fallback, byte_level

from core.trace.words import Text, Words

LEVEL, FALLBACK = byte_level(), byte_fallback()
KINDS = pytest.mark.parametrize("tokenizer", [LEVEL, FALLBACK], ids=["byte-level", "byte-fallback"])
TEXTS = ["the cat", "  two spaces", "Mädchen 😀 日本語", "e\u0301 and ZWJ 👩‍🔬!", "tabs\tand\nlines\r\n", "𝔘𝔫𝔦", "\ufffd kept"]


def ids_of(tokenizer, text):
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def bytes_of(entry):
    return bytes.fromhex(entry["bytes"]) if entry["bytes"] else entry["text"].encode()


# -- entries ----------------------------------------------------------------------------------------------------------


@KINDS
def test_whole_tokens_are_their_text(tokenizer):
    ids = ids_of(tokenizer, "x the cat")
    entries = [Words(tokenizer).entry(i) for i in ids]
    assert all(entry["bytes"] is None and not entry["special"] for entry in entries)
    assert {"text": " the", "special": False, "bytes": None} in entries  # the space is the token's own, as a space
    assert "".join(entry["text"] for entry in entries).lstrip() == "x the cat"


@KINDS
def test_a_fragment_of_a_character_shows_its_bytes(tokenizer):
    fragments = [Words(tokenizer).entry(i) for i in ids_of(tokenizer, "😀")][-4:]
    assert [f["bytes"] for f in fragments] == ["f0", "9f", "98", "80"]
    assert [f["text"] for f in fragments] == ["<0xF0>", "<0x9F>", "<0x98>", "<0x80>"]
    assert not any(f["special"] for f in fragments)


@KINDS
@pytest.mark.parametrize("text", TEXTS)
def test_entries_put_together_are_the_text(tokenizer, text):
    joined = b"".join(bytes_of(Words(tokenizer).entry(i)) for i in ids_of(tokenizer, text)).decode()
    assert joined.removeprefix(" " if tokenizer is FALLBACK else "") == text  # SentencePiece starts with a space


def test_special_added_and_padded_ids():
    words = Words(LEVEL)
    assert words.entry(LEVEL.eos_token_id) == {"text": "<|end|>", "special": True, "bytes": None}
    user, tool = LEVEL.convert_tokens_to_ids("<|user|>"), LEVEL.convert_tokens_to_ids("<tool>")
    assert words.entry(user)["special"]  # special to the tokenizer although it has no role like eos
    assert words.entry(tool) == {"text": "<tool>", "special": False, "bytes": None}
    assert words.entry(len(LEVEL) + 7) == {"text": f"<{len(LEVEL) + 7}>", "special": True, "bytes": None}


@KINDS
def test_every_id_has_an_entry_and_decoding_leaves_out_just_the_special_ones(tokenizer):
    words = Words(tokenizer)
    for i in range(len(tokenizer)):
        entry = words.entry(i)
        assert entry["text"]
        assert entry["special"] == (tokenizer.decode([5, i, 5], skip_special_tokens=True) == tokenizer.decode([5, 5]))


def test_each_word_is_told_once():
    words = Words(LEVEL)
    assert list(words.new([5, 9, 5])) == ["5", "9"]
    assert list(words.new([9, 5, 8])) == ["8"]
    assert words.new([5, 9, 8]) == {}


def test_without_a_tokenizer_words_are_numbers():
    assert Words(None).new([7]) == {"7": {"text": "<7>", "special": False, "bytes": None}}
    text = Text(None, [1])
    assert [text.add([7]), text.add([8, 9]), text.add([], last=True)] == ["<7>", "<8><9>", ""]
    assert text.text == "<7><8><9>"


# -- growing text -----------------------------------------------------------------------------------------------------


def grow(tokenizer, prompt, ids):
    """Each token's increment, one token at a time, and the final text."""
    text = Text(tokenizer, prompt)
    shown = [text.add([i]) for i in ids]
    shown.append(text.add([], last=True))
    return shown, text.text


@KINDS
@pytest.mark.parametrize("text", TEXTS)
def test_increments_add_up_to_the_decoded_text(tokenizer, text):
    prompt = ids_of(tokenizer, "the")
    both = ids_of(tokenizer, "the" + text)
    if both[: len(prompt)] != prompt:  # the text merges with the prompt's last token: start one later
        prompt, both = both[:1], both
    ids = both[len(prompt):]
    shown, final = grow(tokenizer, prompt, ids)
    whole = tokenizer.decode(both, clean_up_tokenization_spaces=False)
    assert tokenizer.decode(prompt) + final == whole
    assert "".join(shown) == final


@KINDS
def test_an_emoji_appears_with_the_token_that_completes_it(tokenizer):
    ids = ids_of(tokenizer, "the 😀")[-4:]
    shown, final = grow(tokenizer, ids_of(tokenizer, "the"), [*ids, *ids_of(tokenizer, "the,")[-1:]])
    assert shown == ["", "", "", "😀", ",", ""] and final == "😀,"


@KINDS
def test_a_leading_space_is_kept_and_specials_are_left_out(tokenizer):
    the = ids_of(tokenizer, "x the")[-1]
    shown, final = grow(tokenizer, ids_of(tokenizer, "cat"), [the, tokenizer.eos_token_id, the])
    assert shown[:3] == [" the", "", " the"] and final == " the the"


@KINDS
def test_a_character_that_never_ends_is_marked_at_the_end_only(tokenizer):
    ids = ids_of(tokenizer, "c😀")[-4:-1]
    shown, final = grow(tokenizer, ids_of(tokenizer, "the"), ids)
    assert shown[:-1] == ["", "", ""] and set(final) == {"\ufffd"} and shown[-1] == final


@KINDS
def test_the_stream_goes_on_after_bytes_that_are_no_text(tokenizer):
    first = ids_of(tokenizer, "cé")[-2:]
    broken, the = ids_of(tokenizer, "c😀")[-4:-3], ids_of(tokenizer, "x the")[-1:]
    ids = [*first, *broken, *the, *the, *the]
    shown, _ = grow(tokenizer, ids_of(tokenizer, "the"), ids)
    assert "".join(shown[:2]) == "é" and "".join(shown).endswith(" the the the")
    assert all(" the" in part for part in shown[3:6])  # none of them waits for the end


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=30), st.data())
def test_any_text_in_any_pieces(text, data):
    ids = ids_of(LEVEL, text)
    growing, shown, start = Text(LEVEL, ids_of(LEVEL, ".")), "", 0
    while start < len(ids):
        size = data.draw(st.integers(1, 4))
        shown += growing.add(ids[start : start + size])
        assert text.startswith(shown) or "\ufffd" in text
        start += size
    shown += growing.add([], last=True)
    assert shown == growing.text == LEVEL.decode(ids, skip_special_tokens=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(FALLBACK) - 1), max_size=25))
def test_any_ids_end_in_the_full_decode(ids):
    for tokenizer in (LEVEL, FALLBACK):
        ours = [i % len(tokenizer) for i in ids]
        _, final = grow(tokenizer, [], ours)
        assert final == tokenizer.decode(ours, skip_special_tokens=True, clean_up_tokenization_spaces=False)


def test_a_long_text_costs_the_same_per_token():
    """Decoding everything again for each token would make a run of thousands crawl."""
    seen = []

    class Counting:
        def decode(self, ids, **how):
            seen.append(len(ids))
            return LEVEL.decode(ids, **how)

    text = Text(Counting(), [5])
    for i in ids_of(LEVEL, "the cat sat on the mat. " * 40):
        text.add([i])
    assert max(seen) < 12
