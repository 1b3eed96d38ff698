"""Training text from files as people have them: every spelling gives the same documents, or one sentence with the place."""

import json

import pytest
from toy_tokenizers import byte_level

from core.common.documents import documents, rendered
from core.errors import UserError
from core.train.corpus import Shard, import_text

TEXT = "how are you doing today, the cat sat there"
CHAT = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}]
SHARE = {"id": "x_0", "conversations": [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "Because."}]}
RECORDS = [{"text": TEXT}, {"messages": CHAT}, SHARE, {"text": "a\u2028b\u2029c\u0085d\x0ce\x1cf"}, {"text": None, "messages": CHAT}, TEXT, CHAT,
           {"conversations": [{"from": "gpt", "value": "So then."}, *SHARE["conversations"]]}, {"text": ""}, {"conversations": []},
           {"messages": [{"role": "user", "content": [{"type": "text", "text": "Wh"}, {"type": "text", "text": "y?"}]}, CHAT[1]]}]
READ = [TEXT, CHAT, CHAT, "a\u2028b\u2029c\u0085d\x0ce\x1cf", CHAT, TEXT, CHAT, CHAT, "", "", CHAT]


def read(path):
    return [document for _, document in documents(path)]


@pytest.mark.parametrize("kind, mark", [("utf-8", ""), ("utf-8", "\ufeff"), ("utf-16-le", "\ufeff"), ("utf-16-be", "\ufeff")])
@pytest.mark.parametrize("spell", [
    lambda lines: "\n".join(lines), lambda lines: "\r\n \r\n".join(lines) + "\r\n", lambda lines: f"[{', '.join(lines)}]",
    lambda lines: "\n[\n" + ",\n".join(lines) + "\n]\n"], ids=["lines", "blank lines", "array", "array over lines"])
def test_records_in_every_spelling(tmp_path, spell, kind, mark):
    for name in ("a.jsonl", "a.JSON"):
        (tmp_path / name).write_bytes((mark + spell([json.dumps(r, ensure_ascii=False) for r in RECORDS])).encode(kind))
        assert read(tmp_path / name) == READ


def test_one_conversation_as_an_array_of_its_messages(tmp_path):
    for turns in (CHAT, SHARE["conversations"]):
        (tmp_path / "a.json").write_text(json.dumps(turns, indent=1))
        assert read(tmp_path / "a.json") == [CHAT]


def test_a_plain_text_is_one_document(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeff{\"text\": 1}\r\nb\u2028c".encode())
    assert read(tmp_path / "a.txt") == ['{"text": 1}\nb\u2028c']


@pytest.mark.parametrize("record, words", [
    ('{"text": null}', []), ('{"text": ["a", "b"]}', ["turn 1"]), ('{"text": 5}', []), ('{"text": "\\ud83d alone"}', []), ("5", []),
    ('{"words": "a"}', ['"messages"', '"conversations"']), ("[1, 2]", ["turn 1"]), ("nope", ["not JSON", "column 1"]), ('{"text": "a"', ["not JSON"]),
    ('{"messages": [{"role": "user", "content": null}]}', ["turn 1", "not a message with text"]),
    ('{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": null, "tool_calls": []}]}', ["turn 2"]),
    ('{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}', ["turn 1"]), ('{"messages": [{"content": "a"}]}', ["turn 1"]),
    ('{"messages": [{"role": null, "content": "a"}]}', ["turn 1"]), ('{"conversations": [{"from": "human", "value": "\\udc00"}]}', ["turn 1"]),
    ('{"text": ' + "[" * 9999, ["nested too deeply"]), ('{"text": ' + "9" * 9999 + "}", ["too long"])])
def test_a_record_that_is_no_text_is_named_by_its_line(tmp_path, record, words):
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": TEXT}) + "\n\n" + record + "\n")
    with pytest.raises(UserError) as caught:
        read(tmp_path / "a.jsonl")
    assert "a.jsonl, line 3" in str(caught.value) and str(caught.value).endswith(".") and "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in words), caught.value


def test_an_entry_of_an_array_and_a_broken_array(tmp_path):
    for text, words in (('[{"text": "a"}, {"text": null}]', "entry 2 is not training text"), ('[{"text": "a"},', "no JSON array"),
                        ('[{"text": "a"},\n]', r"no JSON array \(line 2|no JSON array \(line 1")):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(UserError, match=words):
            read(tmp_path / "a.json")


def test_a_conversation_is_written_in_the_targets_template(tmp_path):
    tokenizer = byte_level()
    assert rendered(CHAT, tokenizer, "a.json, entry 1") == tokenizer.apply_chat_template(CHAT, tokenize=False)
    (tmp_path / "a.json").write_text(json.dumps([SHARE] * 12))
    rows = [Shard.load(path).rows.ravel().tolist() for path in import_text(tmp_path / "a.json", tokenizer, 8, tmp_path)]
    ids = [i for row in rows for i in row]
    one = [*tokenizer(tokenizer.apply_chat_template(CHAT, tokenize=False))["input_ids"], tokenizer.eos_token_id]
    assert ids == (one * 12)[: len(ids)] and len(ids) > len(one) * 11
    for template, words in ((None, "no chat template"), ("{{ raise_exception('two must talk') }}", "two must talk"),
                            ("{{ 1 / 0 }}", "template"), ("{% for m in messages %}{{ m['content']['text'] }}{% endfor %}", "loses")):
        tokenizer.chat_template = template
        with pytest.raises(UserError, match=words) as caught:
            rendered(CHAT, tokenizer, "a.json, entry 1")
        assert "a.json, entry 1" in str(caught.value)
