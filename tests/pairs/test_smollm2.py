"""The real pair, end to end: fetched, converted, decoded, lossless, through the command line."""

import os

import pytest

from core.cli.main import main
from core.pairs.fetch import FetchError
from core.pairs.smollm2 import smollm2_target
from core.trace import Trace


@pytest.fixture(scope="module")
def target():
    """The weights, which a machine without a network may lack; in CI that is a failure."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HF_HUB_OFFLINE")  # only this test may fetch
        try:
            return smollm2_target()
        except FetchError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"SmolLM2-135M is not on this machine: {error}")


def test_why_is_the_sky_blue(target, tmp_path, capsys):
    path = tmp_path / "sky.json.gz"
    code = main(["run", "--pair", "smollm2-135m", "--chat", "--prompt", "Why is the sky blue?", "--check", "--top-k", "4",
                 "--depth", "3", "--total-tokens", "16", "--max-new-tokens", "24", "--trace", str(path)])
    printed = capsys.readouterr().out
    assert code == 0 and "lossless: yes" in printed
    trace = Trace.load(path)
    assert trace.check.lossless is True and trace.summary.new_tokens == 24
    assert trace.output.text.strip() and trace.output.text.strip() in printed
    assert trace.pair.target.startswith("HuggingFaceTB/SmolLM2-135M-Instruct")
    assert trace.summary.tau > 1.3, "the head is of some use"
    assert trace.token(trace.prompt.token_ids[0]).special


def test_the_recorded_runs_are_sound_and_checked():
    from core.cli.recordings import HOME, RECORDINGS
    paths = sorted(HOME.glob("*.json.gz"))
    assert {path.name.removesuffix(".json.gz") for path in paths} == {recording.name for recording in RECORDINGS}
    assert sum(path.stat().st_size for path in paths) < 6e6
    for path in paths:
        trace = Trace.load(path)
        assert trace.rounds and trace.check.lossless is not False
        assert trace.config["temperature"] > 0 or trace.check.lossless is True
