"""The trace: a public format that round-trips, folds from events, and refuses whatever is damaged by name."""

import copy
import dataclasses
import json

import pytest

from core import DecodeConfig, Trace, TraceBuilder, TraceError, decode, fold, stream
from core.trace.events import CacheCommitted, LayerDrafted, RootDecided, RoundStarted, RunFinished, RunStarted


@pytest.fixture(scope="module", params=[0.0, 1.0], ids=["greedy", "sampled"])
def trace(request, golden_pair):
    return decode(golden_pair, [1, 115, 57, 198, 43],
                  DecodeConfig(top_k=4, depth=2, total_tokens=11, max_new_tokens=12, temperature=request.param))


@pytest.mark.parametrize("name", ["t.json", "t.json.gz", "t.jsonl"])
def test_round_trip(trace, tmp_path, name):
    trace.save(tmp_path / name)
    assert Trace.load(tmp_path / name) == trace
    assert [p.name for p in tmp_path.iterdir()] == [name], "nothing is left beside it"
    again = Trace.from_dict(json.loads(json.dumps(trace.to_dict())))
    assert again == trace and again.to_dict() == trace.to_dict()


def test_a_pretty_printed_document_loads(trace):
    assert Trace.from_text(json.dumps(trace.to_dict(), indent=2)) == trace


def test_the_fold_of_the_events_is_the_trace(golden_pair):
    config = DecodeConfig(top_k=4, depth=2, total_tokens=11, max_new_tokens=12)
    events = list(stream(golden_pair, [1, 115, 57], config))
    told = fold(events)
    builder = TraceBuilder()
    lines = "".join(builder.add(event) for event in events)
    assert Trace.from_text(lines) == told == builder.trace
    whole = decode(golden_pair, [1, 115, 57], config)
    assert told.rounds[0].tree == whole.rounds[0].tree and told.output == whole.output
    names = [type(event).__name__ for event in events]
    a_round = ["RoundStarted", *["LayerDrafted"] * 3, "TreePruned", "TreeVerified", "PathAccepted", "CacheCommitted"]
    assert names == ["RunStarted", "RootDecided", *a_round * len(told.rounds), "RunFinished"]


def test_words_come_before_they_are_needed(golden_pair):
    known = set()
    for event in stream(golden_pair, [1, 115, 57], DecodeConfig(max_new_tokens=10)):
        known |= set(getattr(event, "vocabulary", {}))
        match event:
            case RunStarted():
                used = event.prompt["token_ids"]
            case RoundStarted():
                used = [event.root]
            case LayerDrafted():
                used = event.token
            case CacheCommitted() | RunFinished():
                used = getattr(event, "token_ids", [])
            case _:
                used = []
        assert {str(i) for i in used} <= known


def test_a_closed_stream_is_a_cancelled_run(golden_pair):
    builder = TraceBuilder()
    events = stream(golden_pair, [1, 115, 57], DecodeConfig(max_new_tokens=60))
    seen = 0
    for event in events:
        builder.add(event)
        seen += isinstance(event, CacheCommitted)
        if seen == 3 and isinstance(event, LayerDrafted):
            events.close()
            break
    builder.cancel()
    assert len(builder.trace.rounds) == 3 and builder.trace.output.finish_reason == "cancelled"
    whole = decode(golden_pair, [1, 115, 57], DecodeConfig(max_new_tokens=60))
    assert builder.trace.output.token_ids == whole.output.token_ids[: len(builder.trace.output.token_ids)]
    assert len(builder.trace.output.token_ids) == 1 + sum(r.accept.length + 1 for r in builder.trace.rounds)


def test_a_run_cancelled_in_its_last_round_keeps_nothing_after_the_end(golden_pair):
    whole = decode(golden_pair, [1, 115, 57, 198], DecodeConfig(max_new_tokens=40)).output.token_ids
    for eos in whole[2:14]:
        builder, end = TraceBuilder(), whole.index(eos) + 1
        for event in stream(dataclasses.replace(golden_pair, eos_ids=(eos,)), [1, 115, 57, 198], DecodeConfig()):
            if isinstance(event, RunFinished):
                break
            builder.add(event)
        builder.cancel()
        kept = builder.trace.output.token_ids
        assert kept == whole[:end]


@pytest.mark.parametrize("policy", [dict(top_k=4, depth=2, total_tokens=11), dict(policy="chain"), dict(policy="plain")],
                         ids=["eagle2", "chain", "plain"])
def test_lines_that_end_anywhere_hold_what_was_out_by_then(golden_pair, policy):
    """After the header nothing, after a round all that it decided, but nothing beyond the settings' own end."""
    text = decode(golden_pair, [1, 115, 57, 198], DecodeConfig(max_new_tokens=14, **policy)).output.token_ids
    for ends in (dict(max_new_tokens=11), dict(stop_ids=(text[8],)), dict(max_new_tokens=1), dict(stop_ids=(text[0],))):
        builder, out, told = TraceBuilder(), [], ""
        for event in stream(golden_pair, [1, 115, 57, 198], DecodeConfig(**policy | ends)):
            out += event.token_ids if isinstance(event, RootDecided | CacheCommitted) else []
            if isinstance(event, RunFinished):
                break
            if line := builder.add(event):
                told += line
                cut = Trace.from_text(told)
                assert cut.output.token_ids == (out if cut.rounds else []) and cut.output.finish_reason == "cancelled"
                assert cut.summary.rounds == len(cut.rounds) and cut.summary.target_forwards == len(cut.rounds) + 1
        builder.cancel()
        end = ends.get("max_new_tokens") or text.index(ends["stop_ids"][0]) + 1
        assert builder.trace.output.token_ids == out == text[:end], "in memory the first root is known before a round is"


def leaves(value, path=()):
    """Paths of every value in a document; of a long list the first, one in the middle and the last."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list):
        for i in sorted({0, len(value) // 2, len(value) - 1} & set(range(len(value)))):
            yield from leaves(value[i], (*path, i))


def damaged(document, path, value):
    broken = copy.deepcopy(document)
    place = broken
    for step in path[:-1]:
        place = place[step]
    if value is DELETE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return broken


def at(document, path):
    for step in path:
        document = document[step]
    return document


def same(a, b):
    return type(a) is type(b) and a == b


DELETE = object()
FREE_TEXT = {"text", "note", "name", "version", "torch", "transformers", "target", "draft", "device", "dtype"}


def test_any_damaged_field_is_refused_by_name(trace):
    """Fuzz: every field removed or replaced by values of the wrong kind or range."""
    two_rounds = "".join([*trace.lines()][:3])
    document = json.loads(json.dumps(Trace.from_text(two_rounds).to_dict()))
    tried, faults = 0, []
    for path in leaves(document):
        if not path or (path[0] == "vocabulary" and len(path) > 1 and path[-1] != "text"):
            continue
        for value in (None, "damage", -7, 10**9, 0.5, True, float("nan"), [], {}, [[]], DELETE):
            if path[-1] in FREE_TEXT and isinstance(value, str):
                continue
            if path[-1] in ("lossless", "first_difference") and value is None:
                continue  # null is what an unchecked run says
            if same_shape_is_legal(path, value, document) or same(at(document, path), value):
                continue
            tried += 1
            try:
                Trace.from_dict(damaged(document, path, value))
                faults.append(f"{path} = {value!r} was taken")
            except TraceError as refused:
                sentence = str(refused)
                named = any(step in sentence for step in path if isinstance(step, str))
                a_row_less = value is DELETE and isinstance(path[-1], int)  # shows in whatever counts the rows
                if (not named and not a_row_less) or "\n" in sentence:
                    faults.append(f"{path} = {value!r}: {sentence}")
    assert not faults, "\n".join(faults)
    assert tried > 1500


def same_shape_is_legal(path, value, document):
    """Values that are different but sound: nothing in the file could contradict them."""
    last = path[-1]
    number = isinstance(value, float | int) and not isinstance(value, bool)
    if "seconds" in path and last != "seconds":
        return (number and value >= 0) or (path[0] == "summary" and value is DELETE)
    if path == ("summary", "seconds"):
        return value == {}
    if path[0] == "config" and number:  # settings that leave no mark on a finished round
        return (last in ("seed", "sample_top_k", "max_new_tokens") and value == 10**9) or (
            (last == "top_p" and value == 0.5) or (last == "temperature" and value > 0
            and document["config"]["temperature"] > 0))
    if path[0] == "config":
        return last == "stop_ids" and value == []
    if path[0] == "pair":
        return value == 10**9
    if "target" in path or "draws" in path:  # a probability that could as well have been another
        return value == 0.5 and "argmax" not in path and path[-1] not in ("top", "draws", "accepted", "node") and not (
            "top" in path and path[-1] == 0)
    return (path[0] == "vocabulary" and last == "special" and value is True) or (path == ("check", "lossless") and value is True)


def test_another_schema_version_is_refused(trace):
    for version in (0, 3, "1", "2", None, True, 2.0):
        with pytest.raises(TraceError, match="schema_version"):
            Trace.from_dict(trace.to_dict() | {"schema_version": version})


def test_mask_row_unpacks_what_was_packed(trace):
    for r in trace.rounds:
        for row in range(len(r.tree.mask)):
            ancestors, node = set(), row
            while node >= 0:
                ancestors.add(node)
                node = r.tree.parent[node]
            assert {j for j, seen in enumerate(r.mask_row(row)) if seen} == ancestors


def test_a_sentence_of_the_settings_ends_once(trace):
    document = trace.to_dict()
    document["config"]["temperature"] = float("nan")
    with pytest.raises(TraceError, match="temperature is nan") as refused:
        Trace.from_dict(document)
    assert str(refused.value).endswith(".") and not str(refused.value).endswith("..")


@pytest.mark.parametrize("created", ["9999-99-99T99:99:99Z", "2026-02-30T12:00:00Z", "2026-11-30T12:00:61+00:00",
                                     "٢٠٢٦-11-30T12:00:00Z"])
def test_a_moment_that_never_was_is_refused(trace, created):
    with pytest.raises(TraceError, match="created: "):
        Trace.from_dict(trace.to_dict() | {"created": created})
    for sound in ("2024-02-29T23:59:59Z", "2026-11-30T12:00:00.25-05:30"):
        assert Trace.from_dict(trace.to_dict() | {"created": sound}).created == sound


def test_seconds_that_sum_to_infinity_are_refused(trace):
    document = trace.to_dict()
    for told in document["rounds"][:2]:
        told["seconds"]["draft"] = 1e308
    document["summary"]["seconds"].pop("draft", None)
    with pytest.raises(TraceError, match=r"rounds\.seconds of draft have no finite sum"):
        Trace.from_dict(document)
    document = trace.to_dict()
    document["rounds"][0]["seconds"] |= {"draft": 1e308, "verify": 1e308}
    document["summary"]["seconds"] |= {"draft": 1e308, "verify": 1e308}
    with pytest.raises(TraceError, match=r"summary\.seconds have no finite sum"):
        Trace.from_dict(document)


def test_only_plain_digits_name_a_token(trace):
    document = trace.to_dict()
    document["vocabulary"]["١٢"] = next(iter(document["vocabulary"].values()))
    with pytest.raises(TraceError, match="vocabulary"):
        Trace.from_dict(document)


@pytest.mark.parametrize("path", [("prompt", "text"), ("output", "text"), ("pair", "name"), ("pair", "target"),
                                  ("producer", "version"), ("check", "note")])
def test_half_a_surrogate_pair_is_no_text(trace, path):
    with pytest.raises(TraceError, match=f"{'.'.join(path)}: holds half a surrogate pair"):
        Trace.from_dict(damaged(trace.to_dict(), path, "a\ud800"))


def test_a_trace_and_a_round_are_two_lines_in_a_notebook(trace):
    for told, words in ((trace, [f"rounds {len(trace.rounds)}", f"{trace.summary.tau:.2f}", trace.output.finish_reason, "not checked"]),
                        (trace.rounds[1], ["Round 2", f"accepted {trace.rounds[1].accept.length};",
                                           f"candidates {len(trace.rounds[1].candidates.token)},"])):
        assert str(told) == repr(told) and repr(told).count("\n") == 1 and len(repr(told)) < 300
        assert all(word in repr(told) for word in words), repr(told)
    document = trace.to_dict()
    document["prompt"]["text"], document["pair"]["name"] = "a\n\x1b[2J" * 999, "p\n" * 999
    assert repr(Trace.from_dict(document)).count("\n") == 1 and "\x1b" not in repr(Trace.from_dict(document))
