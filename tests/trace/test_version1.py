"""Traces of version 1 still open, and tell what they told."""

import gzip
import json
from pathlib import Path

import pytest

from core.cli.main import main
from core.trace import Trace, TraceError
from treeviz.story.lines import page_lines

HERE = Path(__file__).parent / "version1"
OLD = sorted(path for path in HERE.glob("*.json.gz") if path.name != "sentences.json.gz")
TOLD = json.loads(gzip.decompress((HERE / "sentences.json.gz").read_bytes()))  # by the program that wrote version 1


def document(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def as_lines(old):
    """Its JSON-lines spelling, all words in the header."""
    header = {name: old[name] for name in ("format", "schema_version", "created", "producer", "pair", "config", "prompt",
                                           "vocabulary")}
    footer = {name: old[name] for name in ("output", "summary", "check")} | {"vocabulary": {}}
    lines = [header, *({"round": r, "vocabulary": {}} for r in old["rounds"]), footer]
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.mark.parametrize("path", OLD, ids=lambda p: p.name.split(".")[0])
def test_it_opens_and_tells_the_same_sentences(path, tmp_path, capsys):
    old, trace = document(path), Trace.load(path)
    assert old["schema_version"] == 1 and trace.schema_version == 2
    assert trace.output.model_dump() == old["output"] and len(trace.rounds) == len(old["rounds"]) > 2
    assert [[draw.model_dump() for draw in r.accept.draws] for r in trace.rounds] == [r["accept"]["tests"] for r in old["rounds"]]
    told = [json.loads(line)["page"]["frames"] for line in page_lines(trace).splitlines() if '"round"' in line]
    spoken = [["".join(part if isinstance(part, str) else f"“{part[0]}”" for part in frame["say"]["en"]) for frame in frames]
              for frames in told]
    assert spoken == TOLD[path.name.split(".")[0]]
    trace.save(tmp_path / "new.json")
    assert Trace.load(tmp_path / "new.json") == trace == Trace.from_text(as_lines(old))
    assert main(["check-trace", str(path)]) == 0 and main(["show", str(path), "--round", "2"]) == 0
    assert "eagle2 (top_k" in capsys.readouterr().out


def test_the_shared_names_are_counted_from_the_rounds():
    old = document(OLD[0])
    summary, lengths = Trace.load(OLD[0]).summary, [r["accept"]["length"] for r in old["rounds"]]
    assert summary.mean_acceptance_length == pytest.approx(1 + sum(lengths) / len(lengths)) == old["summary"]["tau"]
    assert summary.acceptance_histogram == [lengths.count(n) for n in range(len(summary.acceptance_histogram))]
    assert sum(summary.acceptance_histogram) == len(lengths)
    assert summary.acceptance_rate_per_pos == pytest.approx(
        [sum(length > i for length in lengths) / len(lengths) for i in range(len(summary.accepted_by_depth))])
    drafted = sum(len(r["tree"]["candidate"]) - 1 for r in old["rounds"])
    assert summary.draft_acceptance_rate == pytest.approx(sum(lengths) / drafted)


@pytest.mark.parametrize(("path", "value"), [
    (("rounds", 0, "accept", "tests"), None), (("rounds", 1, "layers"), {}), (("summary", "tau"), 7.5), (("pair",), []),
    (("rounds",), 3), (("rounds", 0), None), (("summary",), None), (("summary", "accepted_by_depth"), "x"), (("config",), None),
    (("rounds", 0, "tree", "depth"), []), (("rounds", 0, "seconds", "draft"), "x")])
def test_a_damaged_one_is_refused_all_the_same(path, value):
    old = document(OLD[0])
    part = old
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    for text in (json.dumps(old), as_lines(old) if isinstance(old["rounds"], list) else "{}"):
        with pytest.raises(TraceError) as refused:
            Trace.from_text(text)
        assert str(refused.value).endswith(".") and "\n" not in str(refused.value)
