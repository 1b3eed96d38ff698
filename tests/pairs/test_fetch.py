"""Fetching a file over HTTP, from a server of our own."""

import http.server
import threading
from pathlib import Path

import pytest
from file_server import DATA, SHA, Handler, refused
from unprivileged import somebody_else

from core.pairs import fetch
from core.pairs.fetch import download


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
