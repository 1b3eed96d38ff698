"""Every character without ink has a mark, in tree, text and terminal, and nothing acts on a terminal."""

import json
from unicodedata import category

import pytest
import regex
from cli import PAIR, call, refused
from trace_maker import WORDS, make_trace

from core.cli.run import _Printer
from core.common.ink import LINES, visible
from core.trace import Trace
from core.trace.events import CacheCommitted
from core.trace.show import visible as terminal
from treeviz.story.labels import show
from treeviz.story.lines import page_lines

UNSEEN = regex.compile(r"[\p{Default_Ignorable_Code_Point}\p{White_Space}\p{Bidi_Control}\p{Cc}\p{Cf}\p{Cs}\p{Co}"
                       r"\p{Noncharacter_Code_Point}]")
HOSTILE = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b31m\u202e\x00\u2066\r"
ACTS = regex.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Bidi_Control}]")


def test_the_rule_is_unicodes_own():
    """Against another library's tables, over all of Unicode."""
    newer = regex.compile(r"\p{Cf}")  # of a Unicode that this Python does not know yet
    missed = [hex(c) for c in range(0x110000) if UNSEEN.match(chr(c)) and visible(chr(c)) == chr(c)
              and not (category(chr(c)) == "Cn" and newer.match(chr(c)))]
    assert missed == []
    inked = [chr(c) for c in range(0x30000) if category(chr(c))[0] in "LNPSM" and not UNSEEN.match(chr(c))]
    assert len(inked) > 50_000
    assert [c for c in inked if visible(c) != c] == [
        "\u2800", "\u2d7f", "\ufffc", "\U0001107f", "\U00016fe4", "\U0001bc9d", "\U0001d159"]
    assert all(visible(c) != c for c in ("\u3000", "\u2003", "\u3164", "\ufe0f", "\u2800"))


@pytest.mark.parametrize("text", ["👩‍👩‍👧‍👦", "🏳️‍🌈", "❤️", "1️⃣", "👍🏽", "↔️", "🇩🇪", "한글", "שָׁלוֹם", "e\u0301", "𝔘 ≠ 漢字".replace(" ", "")])
def test_what_shapes_a_picture_stays(text):
    assert visible(text) == text


@pytest.mark.parametrize("text, mark", [
    ("\ufe0f", "⟨U+FE0F⟩"), ("a\ufe0f", "a⟨U+FE0F⟩"), ("❤\ufe0f\ufe0f", "❤\ufe0f⟨U+FE0F⟩"), ("\u200d👩", "⟨U+200D⟩👩"),
    ("a\u200db", "a⟨U+200D⟩b"), ("a\u200bb\u200cc\ufeff", "a⟨U+200B⟩b⟨U+200C⟩c⟨U+FEFF⟩"), ("\u3000", "⟨U+3000⟩"),
    ("\U000e0041", "⟨U+E0041⟩"), ("\ud800", "⟨U+D800⟩"), ("a b\n", "a·b↵")])
def test_what_stands_alone_is_named(text, mark):
    assert visible(text) == mark


def test_tree_text_and_terminal_say_the_same():
    odd = ["\u3000", " \u2003x", "\u3164", "\ufe0f", "\x1b[2J"]
    words = [*odd, *WORDS[len(odd):]]
    trace = make_trace(words=words, prompt=(0, 1, 2, 3, 4))
    page = json.loads(page_lines(trace).splitlines()[0])["page"]
    for token, text in enumerate(odd):
        named = visible(text)
        assert page["labels"][str(token)] == terminal(trace, token) == named
        assert page["prompt"][token][0] == visible(text, LINES) and page["prompt"][token][0].strip() == named.strip("·")
    assert show(trace.token(2)) == "⟨U+3164⟩"


def hostile_trace(path):
    document = make_trace().to_dict()
    for word in document["vocabulary"].values():
        word["text"] = HOSTILE
    document["pair"] |= dict.fromkeys(("name", "target", "draft", "device", "dtype"), HOSTILE + "\nlossless: yes")
    document["prompt"]["text"] = document["check"]["note"] = HOSTILE
    Trace.from_dict(document)
    path.write_text(json.dumps(document))
    return path


def test_a_hostile_trace_does_nothing_to_a_terminal(capsys, tmp_path):
    code, out, err = call(capsys, "show", hostile_trace(tmp_path / "t.json"))
    assert code == 0 and err == "" and not ACTS.search(out)
    assert "␛[2J␛[31mred⟨U+009B⟩31m⟨U+202E⟩␀⟨U+2066⟩␍↵lossless: yes" in out.splitlines()[0]
    assert not any(line.startswith("lossless: yes") for line in out.splitlines()), "a name cannot make lines of its own"


def test_nor_do_names_and_values_in_sentences(capsys, tmp_path):
    refused(capsys, ["run", *PAIR, "--prompt-file", tmp_path / HOSTILE.replace("\x00", "")], "␛[2J␛[31mred⟨U+009B⟩31m⟨U+202E⟩")
    refused(capsys, ["run", "--pair", HOSTILE, "--prompt", "x"], "␛]0;title␇")
    bad = tmp_path / "\x1b[2J.json"
    bad.write_text('{"format": "\\u001b[31m\\u202e"}')
    code, out, err = call(capsys, "check-trace", bad)
    assert code == 1 and err == "" and out.count("\n") == 1 and not ACTS.search(out)
    with pytest.raises(SystemExit):
        call(capsys, "show", "x", "\x1b[31m")
    err = capsys.readouterr().err
    assert "␛[31m" in err and not ACTS.search(err)


@pytest.mark.parametrize("where", ["terminal", "pipe"])
def test_a_run_writes_marks_to_a_terminal_and_the_text_itself_to_a_pipe(capsys, monkeypatch, where):
    monkeypatch.setenv("NO_COLOR", "1")
    printer = _Printer(terminal=where == "terminal")
    texts = [HOSTILE, "tab\tand\n", "❤", "\ufe0f"]
    printer.show(CacheCommitted([0], 4, 5, {}, [1, 2, 3, 4], texts))
    printer.end("".join(texts) + HOSTILE)
    out = capsys.readouterr().out
    assert (out == "".join(texts) + HOSTILE + "\n") == (where == "pipe")
    if where == "terminal":
        assert not ACTS.search(out) and "tab\tand\n❤\ufe0f" in out and out.count("␛[2J") == 2
