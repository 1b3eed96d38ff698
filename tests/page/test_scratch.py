"""The temporary folder: ours, small, and gone at the end, however the end comes."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from filelock import FileLock
from served import DEMO, ROOT, served
from unprivileged import somebody_else

from core.errors import UserError
from tests.trace_maker import make_trace
from treeviz.page import scratch as module
from treeviz.page.scratch import PREFIX, VARIABLE, Scratch, clear_leftovers, scratch


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def put(mine, name, size=1, age=0.0):
    path = mine.files / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x" * size)
    os.utime(path, (time.time() - age,) * 2)
    return path


def left(mine):
    return sorted(path.name for path in mine.files.rglob("*") if path.is_file())


def test_it_is_a_new_folder_that_gradio_uses_and_is_gone_afterwards(tmp_path):
    with scratch() as mine:
        assert os.environ[VARIABLE] == str(mine.files) and mine.home.parent == tmp_path and mine.home.stat().st_mode & 0o77 == 0
        put(mine, "a/b.json")
    assert list(tmp_path.iterdir()) == [] and VARIABLE not in os.environ


def test_a_folder_that_was_asked_for_is_used_and_stays(tmp_path, monkeypatch):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "kept.txt").touch()
    monkeypatch.setenv(VARIABLE, str(theirs))
    with scratch() as mine:
        assert mine.home.parent == theirs
    assert os.listdir(theirs) == ["kept.txt"] and os.environ[VARIABLE] == str(theirs)


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path, monkeypatch):
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    with somebody_else(), pytest.raises(UserError, match=r"No temporary files can be written \(.*\); set TMPDIR"):
        Scratch()
    monkeypatch.setenv(VARIABLE, "/no/such/folder")
    with pytest.raises(UserError, match="No such file"):
        Scratch()


def test_what_is_old_goes_and_then_the_oldest_while_there_is_too_much(monkeypatch):
    monkeypatch.setattr(module, "MOST_FILES", 4)
    monkeypatch.setattr(module, "MOST_BYTES", 100_000)
    with scratch() as mine:
        put(mine, "tmpold", age=601)
        put(mine, "tmpyoung", age=10)
        mine.sweep()
        assert left(mine) == ["tmpyoung"]
        for i in range(6):
            put(mine, f"tmp{i}", age=6 - i)
        mine.sweep()
        assert left(mine) == ["tmp2", "tmp3", "tmp4", "tmp5"], "counted"
        put(mine, "tmplarge", size=99_999)
        assert mine.sweep() <= 100_000 and left(mine) == ["tmp5", "tmplarge"], "weighed"
        put(mine, "ab12/upload.json", age=700)
        mine.sweep()
        assert left(mine) == ["tmp5", "tmplarge"] and (mine.files / "ab12").exists(), "it may be about to get another"
        os.utime(mine.files / "ab12", (0, 0))
        mine.sweep()
        assert not (mine.files / "ab12").exists()


def test_what_vanishes_under_the_sweep_is_let_go():
    with scratch() as mine, ThreadPoolExecutor(4) as pool:
        def come_and_go(number):
            for i in range(100):
                put(mine, f"{number}-{i}/a", age=601)
                os.utime(mine.files / f"{number}-{i}", (0, 0))
                mine.sweep()
        assert list(pool.map(come_and_go, range(4))) == [None] * 4
        assert left(mine) == []


def test_what_a_killed_program_left_is_cleared_and_a_living_one_is_let_be(tmp_path):
    dead, new, old, foreign = (tmp_path / f"{PREFIX}{name}" for name in ("dead", "new", "old", "link"))
    for folder in (dead, new, old):
        (folder / "files").mkdir(parents=True)
    (dead / "lock").touch()
    os.utime(old, (0, 0))
    foreign.symlink_to(ROOT)
    living = Scratch()
    clear_leftovers(tmp_path)
    assert not dead.exists() and not old.exists()
    assert new.exists() and living.files.is_dir() and foreign.is_symlink() and (ROOT / "app.py").exists()
    living.close()


def test_a_forked_process_takes_nothing_with_it():
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    with scratch() as mine:
        child = os.fork()
        if child == 0:
            mine.close()
            os._exit(0)
        os.waitpid(child, 0)
        assert mine.files.is_dir()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGKILL"])
def test_a_signal_leaves_nothing_behind(tmp_path, name):
    """SIGKILL does, until the next start."""
    wait = "from treeviz.page.scratch import scratch\nimport time\nwith scratch():\n    print('ready', flush=True)\n    time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", wait], cwd=ROOT, env=os.environ | {"TMPDIR": str(tmp_path)},
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout.readline() == b"ready\n" and len(list(tmp_path.iterdir())) == 1
    process.send_signal(getattr(signal, name))
    assert process.wait(30) in (-getattr(signal, name), 1), "it ends as the signal says"
    process.stdout.close()
    if name == "SIGKILL":
        clear_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == []


# -- strangers on the running program ---------------------------------------------------------------------------------


def form(name, content):
    head = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode()
    return head + content + b"\r\n--b--\r\n"


def upload(app, name, content):
    status, _, text = app.ask("/gradio_api/upload", form(name, content), Content_Type="multipart/form-data; boundary=b")
    assert status == 200, text
    return text.strip('["]')


def files_of(folder):
    return [path for path in folder.glob(f"{PREFIX}*/files/**/*") if path.is_file()]


def half_an_upload(app):
    with contextlib.closing(socket.create_connection(("127.0.0.1", app.port))) as connection:
        body = form("half.json", b"x" * 5000)
        connection.sendall((f"POST /gradio_api/upload HTTP/1.1\r\nHost: localhost:{app.port}\r\nContent-Length: {len(body) + 9}\r\n"
                            "Content-Type: multipart/form-data; boundary=b\r\n\r\n").encode() + body[:4000])
        time.sleep(0.1)


def test_uploads_whole_and_half_leave_little_and_nothing_at_the_end(tmp_path):
    make_trace(rounds=2).save(tmp_path / "run.jsonl")
    trace = (tmp_path / "run.jsonl").read_bytes()
    with served(tmp_path, *DEMO) as app:
        listeners = json.loads(app.ask("/config")[2])["dependencies"]
        load = next(d["id"] for d in listeners if d["api_name"] == "load")
        for name in ("mine.jsonl", "mine.jsonl"):  # the same twice
            path = upload(app, name, trace)
            assert len(files_of(tmp_path)) == 1
            said = app.listen(load, [{"path": path, "orig_name": name, "meta": {"_type": "gradio.FileData"}}])
            assert said["output"]["data"][1].startswith("ok:Opened.")
            assert files_of(tmp_path) == [], "what was opened is not there any more"
        said = app.listen(load, [{"path": path, "orig_name": name, "meta": {"_type": "gradio.FileData"}}])
        assert said["output"]["data"][1].startswith("error:Cannot read mine.jsonl") and str(tmp_path) not in str(said)
        for _ in range(5):
            half_an_upload(app)
        for i in range(module.MOST_FILES + 20):
            upload(app, f"{i}.json", b"%d" % i)
        for _ in range(100):  # the last sweep follows the answer
            if len(files_of(tmp_path)) <= module.MOST_FILES:
                break
            time.sleep(0.05)
        assert len(files_of(tmp_path)) <= module.MOST_FILES
        assert any(path.name == f"{module.MOST_FILES + 19}.json" for path in files_of(tmp_path)), "the last one is there"
        with pytest.raises(module.Timeout):
            FileLock(next(tmp_path.glob(f"{PREFIX}*")) / "lock", timeout=0).acquire()
    assert list(tmp_path.glob(f"{PREFIX}*")) == []
    assert "Traceback" not in app.log.read_text()
