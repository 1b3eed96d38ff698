"""A prompt in a chat's words: those of the family's reference, whole; one sentence where a template cannot say them."""

from types import SimpleNamespace

import pytest
from tokenizers import pre_tokenizers, processors
from toy_tokenizers import CHAT, byte_fallback, byte_level

from core.errors import DecodeError
from core.pairs.chat import FAMILIES, choose_template, encode, user_turn
from core.pairs.named import PAIRS

PLAIN = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{% endfor %}"
PARTS = ("{% for m in messages %}{{ m['role'] + ': ' }}{% for p in m['content'] %}{% if p['type'] == 'text' %}{{ p['text'] }}"
         "{% endif %}{% endfor %}{% endfor %}")


def pair_with(template=None, tokenizer=None, vocab_size=100_000):
    tokenizer = tokenizer or byte_level()
    tokenizer.chat_template = template
    return SimpleNamespace(name="toy", tokenizer=tokenizer, target=SimpleNamespace(vocab_size=vocab_size))


# -- the words of a family ---------------------------------------------------------------------------------------------


def fastchat(turns):
    """vicuna_v1.1 as FastChat's ADD_COLON_TWO style puts it together, written anew from its description."""
    system = ("A chat between a curious user and an artificial intelligence assistant. "
              "The assistant gives helpful, detailed, and polite answers to the user's questions.")
    said = system + " "
    for turn, text in enumerate(turns):
        said += f"{('USER', 'ASSISTANT')[turn % 2]}: {text}{(' ', '</s>')[turn % 2]}"
    return said + "ASSISTANT:"


def begins(tokenizer, metaspace=False):
    """Llama's own: <s> before every text; and of newer files, a space only where the text itself begins."""
    backend = tokenizer.backend_tokenizer
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    if metaspace:
        backend.normalizer = None
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return tokenizer


@pytest.mark.parametrize("metaspace", [False, True])
@pytest.mark.parametrize("text", ["Why?", " two  spaces ", "what is </s> for", "the cat, the end\n"])
def test_vicuna_is_asked_as_fastchat_asks_it(metaspace, text):
    tokenizer = begins(byte_fallback(), metaspace)
    ids = encode(pair_with(FAMILIES["vicuna"], tokenizer), text, chat=True)
    assert ids == tokenizer(fastchat([text]))["input_ids"]
    assert ids[0] == tokenizer.bos_token_id and ids.count(tokenizer.bos_token_id) == 1


def test_vicunas_words_over_several_turns():
    turns = ["Hello!", "Hi.", "How are you?"]
    roles = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(turns)]
    tokenizer = byte_fallback()

    def said(messages):
        return tokenizer.apply_chat_template(messages, chat_template=FAMILIES["vicuna"], tokenize=False,
                                             add_generation_prompt=True)

    assert said(roles) == "<s>" + fastchat(turns)
    assert said([{"role": "system", "content": "Be brief."}, *roles[:1]]) == "<s>Be brief. USER: Hello! ASSISTANT:"


def test_the_families_that_pairs_speak_for_are_known():
    assert {pair.family for pair in PAIRS.values()} - {None} == set(FAMILIES) == {"vicuna"}


# -- other people's templates ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("template, content", [
    (PLAIN, str), (CHAT, str), ("{{ messages[0]['content'] | trim }}", str), ({"default": PLAIN, "tool_use": "x"}, str),
    (PARTS, lambda text: [{"type": "text", "text": text}]),
    ("{% for p in messages[0].content %}[{{ p.text }}]{% endfor %}", lambda text: [{"type": "text", "text": text}]),
    ("{{ messages[0]['content'][0]['text'] + '!' }}", lambda text: [{"type": "text", "text": text}])])
@pytest.mark.parametrize("text", ["how are you", "user", " a\n", " ", '{"a": \'b\'}'])
def test_the_ids_are_the_templates_with_the_users_words_in_them(template, content, text):
    pair = pair_with(template)
    want = pair.tokenizer.apply_chat_template([{"role": "user", "content": content(text)}],
                                              add_generation_prompt=True)["input_ids"]
    assert encode(pair, text, chat=True) == want
    assert text.strip() in pair.tokenizer.decode(want)


@pytest.mark.parametrize("template, words", [
    ("{% if messages | length > 5 %}never{% endif %}", "is lost"), ("user: {{ messages[0].role }}", "is lost"),
    ("{{ messages[0]['content'][0] }}", "is lost"),  # a text's first letter, or a part as Python writes it
    ("{{ messages[0]['content'][:3] }}", "is lost"),
    ("{{ messages[0]['content'] | length + 'x' }}", "TypeError"), ("{{ messages[0]['content'] + [1] }}", "TypeError"),
    ("{{ messages[0]['role'] + messages[0]['content'][0] + [1] }}", "TypeError"), ("{{ 1 / 0 }}", "ZeroDivisionError"),
    ("{% for k, v in messages[0].tools.items() %}{{ k }}{% endfor %}x", "no attribute 'tools'"),
    ("{{ raise_exception('A system message is needed') }}", "A system message is needed"),
    ("{% for m in messages %}", "endfor"), ("{% include 'x' %}", "loader"),
    ("{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}", "RecursionError"), ("{{ messages.__class__.__mro__ }}", "unsafe"),
    ("{{ messages[5].content }}", "list object has no element 5"),
    ({"rag": PLAIN, "tool_use": PLAIN}, "rag, tool_use and no default; choose one"),
    (None, "no chat template"), ({}, "no chat template")])
def test_every_error_of_a_template_is_one_sentence(template, words):
    with pytest.raises(DecodeError) as caught:
        encode(pair_with(template), "user", chat=True)
    said = str(caught.value)
    assert words in said and "--chat" in said and said.endswith(".") and "\n" not in said, said


def test_a_template_is_chosen_by_name_or_from_a_file(tmp_path):
    pair = pair_with({"rag": "rag {{ messages[0].content }}", "tool_use": "tool {{ messages[0].content }}"})
    choose_template(pair, "tool_use")
    assert user_turn(pair, "Why?") == "tool Why?"
    (tmp_path / "t.jinja").write_text("\ufefffile {{ messages[0].content }}", encoding="utf-8")
    choose_template(pair, str(tmp_path / "t.jinja"))
    assert user_turn(pair, "Why?") == "file Why?"
    choose_template(pair, "vicuna")
    assert user_turn(pair, "Why?") == fastchat(["Why?"])
    pair = pair_with({"rag": PLAIN})
    with pytest.raises(DecodeError, match=r"'tool': there is no template of that name \(rag, vicuna\), and as a file: .*No such file"):
        choose_template(pair, "tool")


def test_an_id_that_the_target_has_no_row_for_is_named():
    pair = pair_with(vocab_size=279)
    with pytest.raises(DecodeError, match=r"'<tool>', which is token 280 .* only tokens 0 to 278; leave it out"):
        encode(pair, "a <tool>")
    assert encode(pair, "a")
