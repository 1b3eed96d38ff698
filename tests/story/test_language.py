"""The files of words: whole in every language, of the same values; one that cannot be used is refused in a sentence."""

import json
import re
import shutil

import pytest

from core.errors import UserError
from treeviz.story import language
from treeviz.story.language import LANGUAGES, faults, flat, missing, preferred, section, template

OTHERS = LANGUAGES[1:]
TEXTS = {code: flat(json.loads((language.HOME / f"{code}.json").read_text(encoding="utf-8"))) for code in LANGUAGES}


def names(text):
    return set(re.findall(r"{(.*?)}", text))


@pytest.mark.parametrize("code", OTHERS)
def test_a_language_is_whole(code):
    """What is missing is said in English, and is missing."""
    assert missing(code) == []


@pytest.mark.parametrize("code", OTHERS)
def test_every_language_says_it_with_the_same_values(code):
    for place, text in TEXTS[code].items():
        english = TEXTS["en"].get(place, "")
        if place.startswith("page/loading.") or ".one" in place or not english:
            continue  # the decoder's own notes are English; one may be a word
        assert names(text) == names(english), place


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A copy of the English file, where others may be written."""
    shutil.copy(language.HOME / "en.json", tmp_path)
    monkeypatch.setattr(language, "HOME", tmp_path)
    monkeypatch.setattr(language, "LANGUAGES", ("en", "eo"))

    def write(words):
        for cached in (language.section, language._file):
            cached.cache_clear()
        (tmp_path / "eo.json").write_bytes(words if isinstance(words, bytes) else json.dumps(words).encode())

    yield write
    for cached in (language.section, language._file):
        cached.cache_clear()


def test_what_a_language_lacks_is_english(files):
    files({"page": {"tokens": "{n} ĵetonoj"}, "story": {"accept": "A {n}", "root@chain": "Ĉ", "commit.all": "C"}})
    assert template("page", "tokens", "eo", n=1) == "{n} ĵetonoj", "not the English for one"
    assert template("page", "decode", "eo") == "Decode" and section("page", "fr") == section("page")
    assert template("story", "accept", "eo", n=1, policy="chain") == "A {n}"
    assert template("story", "root", "eo", policy="chain") == "Ĉ" != template("story", "root", "eo")
    left = missing("eo")
    assert {"name", "page/decode", "view/intro/0", "story/commit"} <= set(left)
    assert not {"page/tokens", "page/tokens.one", "story/accept@chain"} & set(left)


def test_one_and_the_policy_have_texts_of_their_own():
    texts = section("story")
    for n, policy, key in ((1, "chain", "accept.one@chain"), (1, "eagle2", "accept.one"), (2, "chain", "accept@chain"),
                           (2, "mine:tree", "accept"), (None, "", "accept")):
        assert template("story", "accept", n=n, policy=policy) == texts[key]
    with pytest.raises(KeyError, match=r"en\.json has no nothing in its section story"):
        template("story", "nothing")


@pytest.mark.parametrize("words, said", [
    (b"{", "cannot be read as JSON"), (b"\xff", "cannot be read as JSON"), (b"[" * 100_000, "cannot be read as JSON"),
    ([], "it is no JSON object with sections"), ({"page": {"decod": "x"}}, "nothing asks for page/decod"),
    ({"page": {"decode": 5}}, "page/decode is no text"), ({"page": {"decode": {"x": "y"}}}, "nothing asks for page/decode/x"),
    ({"page": {"tokens": "{m}"}}, "page/tokens has {m}, which nothing fills in"),
    ({"page": {"tokens": "{n:,}"}}, "page/tokens has a { without a name"), ({"page": []}, "page is no section"),
    ({"story": {"list": ["a"]}}, "story/list has not as many texts as the English one"),
])
def test_a_file_that_cannot_be_used_is_a_sentence(files, words, said):
    files(words)
    with pytest.raises(UserError, match=r"eo\.json") as refused:
        section("page", "eo")
    assert said in str(refused.value) and str(refused.value).endswith("mend it, or take the file away.")
    assert "\n" not in str(refused.value)


def test_what_is_said_of_one_or_of_a_policy_is_asked_for():
    english = {"page": {"a": "{n}", "b.one": "{m}"}}
    assert faults({"page": {"a.one": "1", "a@mine": "{n}", "a.one@mine": "{n}", "b.one": "{m}"}}, english) == []
    assert len(faults({"page": {"a.one": "{m}", "c.one": "", "b@": "", "b": ""}}, english)) == 4


@pytest.mark.parametrize("header, code", [("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("xx, EN-gb;q=0.5, zh", "en"), ("zh;q=1", "zh"),
                                          ("", "en"), ("*", "en"), (",;-,", "en")])
def test_the_language_a_browser_asks_for(header, code):
    assert preferred(header) == code
