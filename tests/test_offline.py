"""With the network cut, everything works but downloads, and those say so. Whatever is looked up is written down."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from readme import blocks

from core.trace import Trace
from tests.end_to_end import visit

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def cut(tmp_path):
    """The environment of a new user on a machine without a network: no caches, and nothing set to say so."""
    env = {key: value for key, value in os.environ.items() if key not in ("HF_HUB_OFFLINE", "PIP_INDEX_URL")}
    return env | {"PYTHONPATH": str(ROOT / "tests/offline"), "OFFLINE_LOG": str(tmp_path / "asked"), "HOME": str(tmp_path),
                  "HF_HOME": str(tmp_path / "hub"), "TREEVIZ_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}


def asked(env):
    """The addresses that were looked up."""
    log = Path(env["OFFLINE_LOG"])
    return set(log.read_text().split()) if log.exists() else set()


def core(env, *args):
    return subprocess.run([sys.executable, "-m", "core", *map(str, args)], cwd=ROOT, env=env, capture_output=True, text=True,
                          timeout=200)


def test_the_guard_can_refuse(cut):
    ask = "import urllib.request; urllib.request.urlopen('http://example.org/', timeout=9)"
    done = subprocess.run([sys.executable, "-c", ask], env=cut, capture_output=True, text=True, timeout=60)
    assert "the network is cut" in done.stderr and asked(cut) == {"example.org"}


def test_the_storybook_decodes(cut, tmp_path):
    done = core(cut, "run", "--pair", "storybook", "--prompt", "Once upon a time", "--max-new-tokens", "24", "--check",
                "--trace", tmp_path / "run.json.gz")
    assert done.returncode == 0 and "lossless: yes" in done.stdout, done.stderr
    assert Trace.load(tmp_path / "run.json.gz").check.lossless and asked(cut) == set()


def test_pairs_are_listed_and_recorded_runs_are_shown(cut):
    listed = core(cut, "pairs")
    assert listed.returncode == 0 and "storybook       here" in listed.stdout and "llama3-8b       to fetch" in listed.stdout
    path = next((ROOT / "assets/traces").glob("*.json.gz"))
    shown, checked = core(cut, "show", path), core(cut, "check-trace", path)
    assert shown.returncode == checked.returncode == 0 and "sound trace" in checked.stdout
    assert asked(cut) == set()


def test_a_pair_that_must_be_fetched_says_so(cut):
    done = core(cut, "run", "--pair", "smollm2-135m", "--prompt", "x")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ") and "cannot be reached" in done.stderr
    assert {"huggingface.co", "pypi.org"} <= asked(cut)


@pytest.mark.parametrize("pair", ["smollm2-135m", "llama3.2-1b"])
def test_offline_means_no_lookups_at_all(cut, pair):
    cut["HF_HUB_OFFLINE"] = "1"
    done = core(cut, "run", "--pair", pair, "--device", "cpu", "--prompt", "x")
    assert done.returncode == 2 and "HF_HUB_OFFLINE is set" in done.stderr.splitlines()[-1], done.stderr
    assert asked(cut) == set()


@pytest.fixture
def app(cut, tmp_path):
    """The address of `python app.py --pair storybook` on a machine without a network."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(tmp_path / "app.log", "w") as log:
        process = subprocess.Popen([sys.executable, "app.py", "--pair", "storybook", "--device", "cpu", "--port", str(port)],
                                   cwd=ROOT, env=cut, stdout=log, stderr=log)
    address = f"http://localhost:{port}/"
    for _ in range(400):
        assert process.poll() is None, (tmp_path / "app.log").read_text()
        try:
            with urllib.request.urlopen(address, timeout=5) as page:
                assert b"TreeViz" in page.read()
            break
        except OSError:
            time.sleep(0.25)
    yield address
    process.terminate()
    process.wait(30)


def test_the_app_opens_and_decodes_as_the_readme_says(app, cut, capsys):
    assert visit(app).pair.name == "storybook"

    example = next(block for block in blocks("python") if "gradio_client" in block)
    names = {}
    exec(example.replace("http://localhost:7860/", app), names)
    assert names["document"]["summary"]["new_tokens"] == 24 and names["document"]["output"]["text"] in capsys.readouterr().out

    shell = next(block for block in blocks("bash") if "curl" in block).replace("http://localhost:7860/", app)
    said = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=200).stdout
    data = next(line for line in said.splitlines() if line.startswith("data: "))
    assert Trace.from_dict(json.loads(data.removeprefix("data: "))[0]).prompt.text == "Once upon a time"
    assert asked(cut) == set()
