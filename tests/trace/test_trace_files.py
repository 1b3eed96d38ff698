"""Files of traces: however packed, cut or hostile, they are read whole or refused by one sentence."""

import gzip
import json
import zlib

import pytest

from core import Trace, TraceError
from core.trace import bytes as trace_bytes
from core.trace.lines import check_line
from tests.trace_maker import make_trace


@pytest.fixture(scope="module", params=[0.0, 1.0], ids=["greedy", "sampled"])
def trace(request):
    return make_trace(rounds=5, temperature=request.param)


def refusal(text):
    with pytest.raises(TraceError) as refused:
        Trace.load(text) if hasattr(text, "exists") else Trace.from_text(text)
    sentence = str(refused.value)
    assert len(sentence) < 400 and "\n" not in sentence and sentence.endswith(".")
    return sentence


def test_lines_of_a_killed_writer(trace):
    lines = trace.to_lines()
    for cut in (lines.rindex("\n", 0, -1) + 1, lines.rindex("\n", 0, -1) + 20):  # before the footer, and inside it
        short = Trace.from_text(lines[:cut])
        assert short.rounds == trace.rounds and short.output.finish_reason == "cancelled"
    first_round = lines.index("\n") + 1
    assert Trace.from_text(lines[:first_round]).rounds == []
    with pytest.raises(TraceError, match="line 2"):
        Trace.from_text(lines[:first_round] + "{broken\n" + lines[first_round:])
    with pytest.raises(TraceError, match="follows the footer"):
        Trace.from_text(lines + lines[first_round:])


def test_a_check_is_a_line_after_the_footer(trace):
    """As a run appends it once it has ended; it takes the place of what the footer says."""
    lines = trace.to_lines()
    found = {"lossless": False, "first_difference": 1, "note": "x", "tokens": 2, "seconds": 0.2, "clock": [0.1, 0.2],
             "choices": [[3, 1.5], [4, 1.25]]}
    word = {"text": "w", "special": False, "bytes": None}
    line = check_line(found, {"3": word, "4": word})
    checked = Trace.from_text(lines + line)
    assert checked.check.model_dump(mode="json") == found and checked.rounds == trace.rounds
    assert Trace.from_text(checked.to_lines()) == checked == Trace.from_dict(checked.to_dict())
    cut = Trace.from_text(lines + line[:40])
    assert cut == trace, "the writer was stopped in it"
    for bad in (lines + line + line, lines + line + lines.splitlines(True)[-1]):
        with pytest.raises(TraceError, match=r"follows the (check|footer)"):
            Trace.from_text(bad)
    with pytest.raises(TraceError, match="neither a round nor the footer"):
        Trace.from_text(lines[:lines.index("\n") + 1] + line)
    for wrong in ({"clock": [0.1]}, {"clock": [0.2, 0.1]}, {"choices": [[3, 1.5]]}, {"lossless": True}):
        with pytest.raises(TraceError, match="check"):
            Trace.from_text(lines + check_line(found | wrong, {"3": word, "4": word}))
    unknown = next(i for i in range(5, 999) if str(i) not in trace.vocabulary)
    with pytest.raises(TraceError, match=f"check.choices names token {unknown}"):
        Trace.from_text(lines + check_line(found | {"choices": [[unknown, 1.5], [4, 1.25]]}, {"4": word}))


@pytest.mark.parametrize("text", ["", "not json", "[]", "{}", "null", '{"format": "other"}', "{" * 100_000,
                                  "[" * 100_000, '{"format": "eagle2-trace"}', '{"a": ' + "9" * 10_000 + "}", "\x00"])
def test_what_is_no_trace_gets_a_sentence(text):
    with pytest.raises(TraceError) as refused:
        Trace.from_text(text)
    assert len(str(refused.value)) < 300 and "\n" not in str(refused.value)


def test_files_that_are_no_traces(tmp_path, trace):
    missing, binary, short, bomb = (tmp_path / name for name in ("no.json", "b.json", "s.json.gz", "bomb.json.gz"))
    binary.write_bytes(b"\xff\xfe\x00")
    trace.save(short)
    short.write_bytes(short.read_bytes()[:-40])
    bomb.write_bytes(gzip.compress(b" " * (300 * 2**20), 1))
    for path, word in ((missing, "No such file"), (binary, "UTF-8"), (short, "cut short"), (bomb, "150 times"),
                       (tmp_path, "directory")):
        with pytest.raises(TraceError, match=word):
            Trace.load(path)


def test_a_number_without_end_gets_a_plain_sentence(trace):
    header, _, rest = trace.to_lines().partition("\n")
    lines = header + "\n" + rest.replace('"index":', f'"more":{"9" * 6000},"index":', 1)
    assert len(lines) > len(header) + len(rest) + 6000
    for text in ('{"format": "eagle2-trace", "rounds": ' + "9" * 6000 + "}", lines):
        with pytest.raises(TraceError, match="thousands of digits") as refused:
            Trace.from_text(text)
        assert "sys." not in str(refused.value) and "int" not in str(refused.value).split()


# -- gzip --------------------------------------------------------------------------------------------------------------

def packed(*pieces):
    return b"".join(gzip.compress(piece.encode()) for piece in pieces)


def test_every_member_of_a_gzip_file_is_read(tmp_path, trace):
    lines, text, path = [*trace.lines()], json.dumps(trace.to_dict()), tmp_path / "t.gz"
    halves = text[:5000], text[5000:]
    for data in (packed(*lines), packed(lines[0], "", *lines[1:], ""), packed("".join(lines[:3]), "".join(lines[3:])),
                 packed(*halves), packed(*text[:999], text[999:]), packed(text) + b"\0" * 513, packed(text) + b"\0"):
        path.write_bytes(data)
        assert gzip.decompress(data).decode() in (text, "".join(lines))
        assert Trace.load(path) == trace


@pytest.mark.parametrize("tail, word", [
    (b"hello", "goes on after its gzip stream"), (b"\0\0hello", "goes on after its gzip stream"),
    (b"\x1f", "cut short"), (b"\x1f\x8b", "cut short"), (gzip.compress(b"[1]" * 99)[:-9], "cut short"),
    (b"\x1f\x8bhello", "not a readable gzip"), (gzip.compress(b" {}"), "text follows the end")])
def test_what_follows_a_gzip_stream_is_never_left_out(tmp_path, trace, tail, word):
    path = tmp_path / "t.gz"
    path.write_bytes(packed(json.dumps(trace.to_dict())) + tail)
    assert word in refusal(path)


def test_the_limits_count_all_members(tmp_path, trace, monkeypatch):
    path, text = tmp_path / "t.gz", json.dumps(trace.to_dict())
    monkeypatch.setattr(trace_bytes, "MAX_BYTES", len(text))
    for size, more in ((len(text), "x"), (len(text) // 2, "x" * (len(text) // 2 + 2))):
        path.write_bytes(packed(text[:size], more))
        assert "holds more than" in refusal(path)
    path.write_bytes(packed(text[:99], text[99:]))
    assert Trace.load(path) == trace
    monkeypatch.setattr(trace_bytes, "MAX_MEMBERS", 20)
    path.write_bytes(packed(*text[:20], text[20:]))
    assert "more than 20 gzip members" in refusal(path)


@pytest.mark.parametrize("filling", ["\n", " ", "[", "0", "\0", "[],", '{"a":'])
def test_a_bomb_is_refused_before_it_goes_off(tmp_path, filling, monkeypatch):
    """Where the unpacking stops is counted: a test of memory and time would be one of the machine."""
    path, taken, header = tmp_path / "t.jsonl.gz", [], next(iter(make_trace(rounds=1).lines()))
    path.write_bytes(gzip.compress(header.encode() + (filling * (2**26 // len(filling))).encode(), 1) * 4)

    class Counted:
        def __init__(self, unpacker):
            self._unpacker = unpacker

        def __getattr__(self, name):
            return getattr(self._unpacker, name)

        def decompress(self, *args):
            taken.append(self._unpacker.decompress(*args))
            return taken[-1]

    real = zlib.decompressobj
    monkeypatch.setattr(trace_bytes.zlib, "decompressobj", lambda **kw: Counted(real(**kw)))
    assert "times its size" in refusal(path)
    assert sum(map(len, taken)) < 20 * 2**20


def test_a_wide_desert_of_blank_lines_is_crossed(trace):
    header, *others = trace.lines()
    assert Trace.from_text("\n" * 2**24 + header + "\n \r\n" * 2**22 + "".join(others) + "\n" * 2**24) == trace


# -- cut files ---------------------------------------------------------------------------------------------------------

def test_a_file_cut_anywhere_says_so_or_has_its_whole_rounds(tmp_path):
    trace = make_trace(rounds=3, words=["\u00e9\U0001f600", *[f" {i}" for i in range(15)]])
    path, lines = tmp_path / "t.jsonl", "".join(trace.lines()).replace("\\ud83d\\ude00", "\U0001f600").encode()
    ends = [i + 1 for i, byte in enumerate(lines) if byte == 10]
    for cut in [*range(1, 400, 7), *range(ends[0] - 30, ends[0] + 30), *range(ends[0], len(lines), 211)]:
        path.write_bytes(lines[:cut])
        if cut < ends[0] - 1:
            assert "was cut off inside its header" in refusal(path)
        else:
            done = sum(end <= cut + 1 for end in ends[1:4])
            assert Trace.load(path).rounds == trace.rounds[:done]
    path.write_bytes(json.dumps(trace.to_dict(), ensure_ascii=False).encode()[:-2000])
    assert "was cut off inside its rounds" in refusal(path)
    for empty in (b"", b"\n\n", b"\xef\xbb\xbf"):
        path.write_bytes(empty)
        assert "empty" in refusal(path)


# -- hostile values ----------------------------------------------------------------------------------------------------

def with_header(trace, **fields):
    header, _, rest = trace.to_lines().partition("\n")
    return json.dumps(json.loads(header) | fields) + "\n", rest


@pytest.mark.parametrize("field", ["producer", "pair", "config", "prompt", "vocabulary"])
@pytest.mark.parametrize("value", [[1], [], None, 5, "text", True, {"1": 2}, {"x": None}, {}])
def test_a_header_line_of_the_wrong_kind_is_named(trace, field, value):
    header, rest = with_header(trace, **{field: value})
    for text in (header + rest, header + rest[:rest.index("\n") + 1], header):
        if (field, value) != ("vocabulary", {}):
            assert field in refusal(text)
        elif text != header:
            assert "vocabulary lacks" in refusal(text)


@pytest.mark.parametrize("name", ["top_k", "depth", "total_tokens", "max_new_tokens", "temperature", "top_p", "sample_top_k",
                                  "seed", "draft_vocab", "stop_ids"])
@pytest.mark.parametrize("value", [10**9, 10**19, 10**400, -10**400, 10**4200])
def test_a_setting_of_any_size_is_no_trouble(trace, name, value):
    for number in (value, [value]):
        header, rest = with_header(trace, config=trace.config | {name: number})
        document = trace.to_dict() | {"config": trace.config | {name: number}}
        for text in (header, header + rest, json.dumps(document)):
            if abs(value) >= 10**400 or name in ("depth", "top_p"):
                assert name in refusal(text)
            else:
                try:
                    Trace.from_text(text)
                except TraceError as refused:
                    assert len(str(refused)) < 400


def test_a_count_that_asks_for_endless_lists_is_refused(trace):
    document = trace.to_dict()
    document["summary"]["accepted_by_depth"] += [0] * 10**6
    assert "summary.accepted_by_depth" in refusal(json.dumps(document))
    header, _ = with_header(trace, config=trace.config | {"depth": 10**9})
    assert "depth is 1000000000" in refusal(header)


def test_a_name_without_end_is_short_in_the_sentence(trace):
    for document in (trace.to_dict() | {"x" * 10**6: 1}, trace.to_dict() | {"a\nb": 1}, trace.to_dict() | {"schema_version": "1" * 10**6},
                     trace.to_dict() | {"config": trace.config | {"y" * 10**6: 1}},
                     trace.to_dict() | {"vocabulary": {"z" * 10**6: 1}}):
        refusal(json.dumps(document))
