"""The recorded runs on offer: those with a sentence in its order, then whatever else lies there, by its name."""

import pytest

from tests.trace_maker import make_trace
from treeviz.page import gallery


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("deep", "sky", "\u202ey"):
        make_trace(rounds=1).save(tmp_path / f"{name}.json.gz")
    monkeypatch.setattr(gallery, "HOME", tmp_path)
    return tmp_path


def tell(monkeypatch, **languages):
    monkeypatch.setattr(gallery, "section", lambda name, language="en": languages.get(language, languages["en"]))


def test_the_order_is_that_of_the_sentences(home, monkeypatch):
    tell(monkeypatch, en={"sky": "The sky.", "gone": "Its file is gone.", "deep": "Deep."}, zh={"sky": "天。"})
    runs = gallery.recorded()
    assert [(run.name, run.said["en"], run.said["zh"]) for run in runs] == [
        ("sky", "The sky.", "天。"), ("deep", "Deep.", "deep"), ("\u202ey", "⟨U+202E⟩y", "⟨U+202E⟩y")]


def test_two_runs_of_one_sentence_are_both_on_offer(home, monkeypatch):
    tell(monkeypatch, en={"sky": "A run.", "deep": "A run."})
    runs = gallery.recorded(str(home / "sky.json.gz"))
    assert [run.sentence for run in runs] == ["Your file sky.json.gz", "A run.", "A run. (deep)", "⟨U+202E⟩y"]
    assert len({run.said["zh"] for run in runs}) == 4
