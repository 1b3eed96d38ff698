"""A prompt reaches the tokenizer as it was given: typed, in a file of any Unicode spelling, on standard input."""

import io
import sys
from types import SimpleNamespace

import pytest
from cli import FEW, call, decode, refused, talking_pair
from toy_tokenizers import byte_level

from core.trace import Trace

TEXTS = {"CRLF": "a\r\n\tb\r\n\r\n", "CR": "a\rb\r", "one newline": "the cat\n", "newlines": "\n\n", "spaces": "    ", "tab": "\t",
         "separators": "a\u2028b\u2029c\x85d\x0ce", "NUL": "a\0b", "joiners": "👩‍👩‍👧‍👦 a\u200bb", "marks": "<|end|>\nx", "dash": "-1 is"}


@pytest.fixture(scope="module")
def talking(tmp_path_factory):
    return talking_pair(tmp_path_factory)


def read(capsys, talking, path, *flags):
    """The prompt of a run's trace."""
    decode(capsys, *talking, *FEW, *flags, "--quiet", "--trace", path / "t.json")
    return Trace.load(path / "t.json").prompt


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_file_is_its_text_whatever_its_line_ends(capsys, talking, tmp_path, text):
    (tmp_path / "p").write_bytes(text.encode())
    prompt = read(capsys, talking, tmp_path, "--prompt-file", tmp_path / "p")
    assert prompt.text == text and prompt.token_ids == byte_level()(text)["input_ids"]
    if "\0" not in text:
        assert read(capsys, talking, tmp_path, f"--prompt={text}") == prompt
    chat = read(capsys, talking, tmp_path, "--prompt-file", tmp_path / "p", "--chat")
    assert chat.text == text and chat.token_ids == byte_level().apply_chat_template(
        [{"role": "user", "content": text}], add_generation_prompt=True)["input_ids"]


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "utf-32-be"])
def test_a_mark_says_how_a_file_is_spelt(capsys, talking, tmp_path, coding):
    text = "how äre 😀\r\n"
    mark = "\ufeff" if coding.endswith("be") else ""  # the others write it by themselves, or need none
    (tmp_path / "p").write_bytes((mark + text).encode(coding))
    assert read(capsys, talking, tmp_path, "--prompt-file", tmp_path / "p").text == text


def test_standard_input(capsys, talking, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO("Öl\r\n".encode("utf-16"))))
    assert read(capsys, talking, tmp_path, "--prompt-file", "-").text == "Öl\r\n"
    for raw, word in ((b"", "is empty"), (b"\xff\xfe\x00\xd8", "on standard input cannot be read"), (b"caf\xe9", "UTF-8")):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(raw)))
        refused(capsys, ["run", *talking, "--prompt-file", "-"], word)


def test_a_traces_ending_may_be_in_capitals(capsys, talking, tmp_path):
    for name in ("A.JSON", "a.Json.GZ", "A.JSONL"):
        decode(capsys, *talking, *FEW, "--prompt", "the", "--quiet", "--trace", tmp_path / name)
        assert Trace.load(tmp_path / name).prompt.text == "the"
    assert (tmp_path / "a.Json.GZ").read_bytes()[:2] == b"\x1f\x8b"
    assert len((tmp_path / "A.JSONL").read_text().splitlines()) > len((tmp_path / "A.JSON").read_text().splitlines()) == 1


def test_a_chat_template_is_chosen_by_a_flag(capsys, talking, tmp_path):
    (tmp_path / "t.jinja").write_text("[{{ messages[0].content }}]")
    prompt = read(capsys, talking, tmp_path, "--prompt", "Why?", "--chat-template", tmp_path / "t.jinja")  # it asks for a chat
    assert prompt.text == "Why?" and prompt.token_ids == byte_level()("[Why?]")["input_ids"]
    refused(capsys, ["run", *talking, "--prompt", "x", "--chat-template", "rag"], "'rag'", "no template of that name", "vicuna")
    refused(capsys, ["run", *talking, "--ids", "5", "--chat-template", "rag"], "--ids")
    assert call(capsys, "bench", *talking, "--chat-template", "rag")[0] == 2
