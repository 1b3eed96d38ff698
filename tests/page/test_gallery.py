"""The recorded runs on offer, whatever has become of the file with their sentences."""

import json

import pytest

from tests.trace_maker import make_trace
from treeviz.page import gallery

DAMAGED = ["5", '["sky", 5, null]', "null", '"sky"', "true", "", "{", "[" * 100_000, '{"sky": null, "deep": 5}', '{"sky": ["a"]}',
           '{"sky": {"en": "x"}, "5": []}', '{"sky": "  "}', b"\xff\xfe", '{"sky": "\\ud800"}', '{"other": "x"}']


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("deep", "sky"):
        make_trace(rounds=1).save(tmp_path / f"{name}.json.gz")
    monkeypatch.setattr(gallery, "HOME", tmp_path)
    return tmp_path


@pytest.mark.parametrize("content", DAMAGED, ids=range(len(DAMAGED)))
def test_a_gallery_of_another_shape_shows_the_names_of_the_files(home, content):
    (home / "gallery.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    runs = gallery.recorded()
    assert {run.name for run in runs} == {"deep", "sky"}
    shown = "⟨U+D800⟩" if b"ud800" in (home / "gallery.json").read_bytes() else "sky"
    assert {run.name: run.sentence for run in runs} == {"deep": "deep", "sky": shown}
    assert all(isinstance(text, str) and text.encode() for run in runs for text in run.said.values())


def test_a_sentence_beside_a_damaged_one_is_kept(home):
    (home / "gallery.json").write_text(json.dumps({"sky": "The sky.", "deep": None}))
    assert [(run.name, run.sentence) for run in gallery.recorded()] == [("sky", "The sky."), ("deep", "deep")]


def test_two_runs_of_one_sentence_are_both_on_offer(home):
    (home / "gallery.json").write_text(json.dumps({"sky": "A run.", "deep": "A run."}))
    sentences = [run.sentence for run in gallery.recorded(str(home / "sky.json.gz"))]
    assert len(set(sentences)) == 3 and sentences[1:] == ["A run.", "A run. (deep)"]


def test_without_a_file_of_sentences_the_page_opens(home):
    from treeviz.page.blocks import Options, build_page
    from treeviz.page.choices import Source
    (home / "gallery.json").write_text('["sky", 5, null]')
    assert build_page(Options(Source(), demo=True))
