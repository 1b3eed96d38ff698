"""Bad input to the command line: one sentence, exit code 2, no traceback; and runs that break off half-way."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from cli import FEW, IDS, PAIR, call, refused, talking_pair
from pair_maker import GOLDEN, make_head, make_target
from unprivileged import somebody_else

from core.cli.main import main

talking = pytest.fixture(scope="module", name="talking")(talking_pair)


@pytest.mark.parametrize("command, words", [
    ([], "command"),
    (["frob"], "'frob'"),
    (["run"], "--prompt --prompt-file --ids"),
    (["run", "--prompt", "x", "--top-k", "abc"], "invalid int value: 'abc'"),
    (["train"], "--target, --out"),
])
def test_flags_that_do_not_parse_are_one_line_that_says_where_they_are_listed(command, words, capsys):
    with pytest.raises(SystemExit) as ended:
        main(command)
    error = capsys.readouterr().err
    assert ended.value.code == 2 and error.count("\n") == 1 and error.startswith("error: ") and words in error
    assert "python -m core" in error and " --help lists what there is" in error


@pytest.mark.parametrize("flags, words", [
    (["--total-tokens", "0"], ["total_tokens is 0", "give 1 or more"]),
    (["--total-tokens", "53"], ["total_tokens is 53", "only 52 candidates", "lower total_tokens to 52"]),
    (["--top-k", "0"], ["top_k is 0", "give 1 or more"]),
    (["--top-k", "257"], ["257 children", "top_k 257", "only 256 tokens"]),
    (["--top-k", "2000"], ["top_k is 2000 and depth is 3", "12,002,000 candidates", "480.1 MB of trace", "250,000", "lower top_k"]),
    (["--depth", "1000000000"], ["depth is 1000000000", "16,000,000,004 candidates", "lower top_k or depth"]),
    (["--top-k", "60", "--total-tokens", "10001"], ["total_tokens is 10001", "10,000 are the most"]),
    (["--depth", "-1"], ["depth is -1", "give 0 or more"]),
    (["--max-new-tokens", "0"], ["max_new_tokens is 0", "give 1 or more"]),
    (["--temperature", "-0.5"], ["temperature is -0.5", "positive"]),
    (["--temperature", "nan"], ["temperature is nan", "finite"]),
    (["--temperature", "inf"], ["temperature is inf", "finite"]),
    (["--top-p", "0"], ["top_p is 0.0", "above 0"]),
    (["--top-p", "1.5"], ["top_p is 1.5", "at most 1"]),
    (["--top-p", "nan"], ["top_p is nan", "finite"]),
    (["--sample-top-k", "-1"], ["sample_top_k is -1", "0 or more"]),
    (["--seed", "-1"], ["seed is -1", "0 or more"]),
    (["--stop-ids", "2,x"], ["--stop-ids", "'2,x'", "commas"]),
    (["--stop-ids=-2"], ["stop_ids", "-2"]),
    (["--stop-ids", "256"], ["Stop id 256", "0 to 255"]),
    (["--ids", ""], ["prompt is empty"]),
    (["--ids", "5,,3"], ["--ids", "'5,,3'", "commas"]),
    (["--ids", "5,256"], ["256", "outside the vocabulary", "0 to 255"]),
    (["--ids=-1"], ["-1", "outside the vocabulary", "0 to 255"]),
    (["--ids", ",".join(["5"] * 509)], ["509 tokens", "context", "512", "shorten the prompt to 507 tokens"]),
    (["--ids", "5", "--depth", "511"], ["depth 511", "at most 510 deep"]),
    (["--ids", "5", "--depth", "600"], ["depth 600", "at most 510 deep"]),
    (["--ids", "5", "--chat"], ["--chat", "--ids"]),
    (["--device", "tpu"], ['"tpu"', "auto, cpu, cuda"]),
    (["--dtype", "int8"], ['"int8"', "float32"]),
    (["--trace", "run.txt"], ["run.txt", ".json, .json.gz or .jsonl"]),
    (["--trace", "/no/such/folder/run.json"], ["/no/such/folder", "create it"]),
])
def test_flags_that_cannot_be(capsys, flags, words):
    prompt = [] if any(flag.startswith("--ids") for flag in flags) else IDS
    refused(capsys, ["run", *PAIR, "--top-k", "4", "--depth", "3", *prompt, *flags], *words)  # the last of a flag counts


@pytest.mark.skipif(torch.cuda.is_available(), reason="has CUDA")
def test_cuda_where_there_is_none(capsys):
    refused(capsys, ["run", *PAIR, *IDS, "--device", "cuda"], '"cuda"', "use cpu")


@pytest.mark.parametrize("flags, words", [
    (["--target", "x"], ["--target and --draft go together"]), (["--draft", "x"], ["--target and --draft go together"]),
    (["--pair", "smollm2-135m", "--target", "x", "--draft", "y"], ["not both"]),
    (["--pair", "gpt-9"], ['"gpt-9"', "smollm2-135m"]),
    (["--target", "./nowhere", "--draft", "./nowhere"], ["./nowhere", "does not exist"]),
    (["--target", "someone/nothing-0123456789", "--draft", "y/z"], ["someone/nothing-0123456789", "HF_HUB_OFFLINE is set"]),
])
def test_pairs_that_cannot_be(capsys, flags, words):
    refused(capsys, ["run", *IDS, *flags], *words)


@pytest.mark.parametrize("spoil, words", [
    (lambda target, head: cut_short(target), ["target's weights", "truncated"]),
    (lambda target, head: cut_short(head), ["head's weights", "truncated"]),
    (lambda target, head: (target / "config.json").unlink(), ["config.json is missing"]),
    (lambda target, head: (head / "model.safetensors").unlink(), ["neither model.safetensors nor pytorch_model.bin"]),
    (lambda target, head: make_head(head, make_target(target.parent / "wide", vocab_size=256, hidden_size=128)),
     ["hidden_size is 128", "target's is 64"]),
    (lambda target, head: make_head(head, make_target(target.parent / "wordy", vocab_size=300, hidden_size=64)),
     ["vocab_size is 300", "target's is 256"]),
], ids=["short target", "short head", "no config", "no weights", "hidden size", "vocabulary"])
def test_checkpoints_that_cannot_be(capsys, tmp_path, spoil, words):
    """One of each kind, through the command line; all kinds are in test_checkpoint_refused.py."""
    target = shutil.copytree(GOLDEN / "weights/target", tmp_path / "target")
    head = shutil.copytree(GOLDEN / "weights/head_bias", tmp_path / "head")
    spoil(target, head)
    refused(capsys, ["run", "--target", target, "--draft", head, *IDS], *words)


def cut_short(directory):
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize("flags, words", [
    (["--prompt", ""], ["prompt is empty"]),
    (["--prompt", "caf\udce9"], ["caf", "not valid UTF-8"]),
    (["--prompt", "the " * 400], ["the prompt has", "256", "shorten the prompt to 249"]),
    (["--chat", "--prompt", "the " * 400], ["the prompt has", "shorten"]),
])
def test_prompts_that_cannot_be(capsys, talking, flags, words):
    with pytest.raises(AssertionError):  # the helper itself can fail
        refused(capsys, ["run", *talking, *FEW, "--prompt", "the"])
    code, _, err = call(capsys, "run", *talking, *flags)
    assert code == 2 and err.count("\n") == 1, err
    for word in words:
        assert word.lower() in err.lower(), err


def test_prompt_files_that_cannot_be_read(capsys, talking, tmp_path):
    (tmp_path / "latin").write_bytes("café".encode("latin-1"))
    (tmp_path / "empty").write_bytes(b"")
    for name, word in (("latin", "UTF-8"), ("missing", "No such file"), (".", "directory"), ("empty", "is empty")):
        refused(capsys, ["run", *talking, "--prompt-file", tmp_path / name], word)
    refused(capsys, ["run", "--target", "./nowhere", "--draft", "./nowhere", "--prompt-file", tmp_path / "missing"],
            "missing")  # found before anything is loaded


def test_text_for_a_pair_without_a_tokenizer_or_a_template(capsys, talking, tmp_path):
    refused(capsys, ["run", *PAIR, "--prompt", "hello"], "no tokenizer", "--ids")
    target = shutil.copytree(talking[1], tmp_path / "target")
    (target / "chat_template.jinja").write_text("{{ raise_exception('Only two may talk') }}")
    refused(capsys, ["run", "--target", target, *talking[2:], "--chat", "--prompt", "x"], "Only two may talk", "--chat")
    (target / "chat_template.jinja").unlink()
    refused(capsys, ["run", "--target", target, *talking[2:], "--chat", "--prompt", "x"], "no chat template", "--chat")


@pytest.mark.parametrize("flags", [["--top-k", "x"], ["--prompt", "a", "--ids", "5"], ["--device-map", "balanced"], []])
def test_flags_that_argparse_refuses(capsys, flags):
    with pytest.raises(SystemExit) as caught:
        main(["run", *PAIR, *flags])
    assert caught.value.code == 2 and "Traceback" not in capsys.readouterr().err


def test_traces_that_cannot_be_written_are_found_before_anything_is_loaded(capsys, tmp_path):
    nowhere = ["run", "--target", "./nowhere", "--draft", "./nowhere", *IDS, "--trace"]
    (tmp_path / "folder.json").mkdir()
    refused(capsys, [*nowhere, tmp_path / "folder.json"], "folder.json", "is a folder")
    refused(capsys, [*nowhere, tmp_path / ("x" * 252 + ".json")], "cannot be written", "choose another place")
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "there.json").write_text("{}")
    (locked / "there.json").chmod(0o666)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    locked.chmod(0o555)
    with somebody_else():
        refused(capsys, [*nowhere, locked / "run.json"], locked / "run.json", "choose another place")
        # this file could be opened, but a document is moved to its place from beside it
        refused(capsys, [*nowhere, locked / "there.json"], locked / "there.json", "choose another place")


def test_looking_whether_a_trace_can_be_written_leaves_no_trace(capsys, tmp_path):
    (tmp_path / "old.json").write_text("kept")
    for name in ("old.json", "new.json", "new.jsonl"):
        refused(capsys, ["run", "--target", "./nowhere", "--draft", "./nowhere", *IDS, "--trace", tmp_path / name], "nowhere")
    assert [p.name for p in tmp_path.iterdir()] == ["old.json"] and (tmp_path / "old.json").read_text() == "kept"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_fills_up(capsys, tmp_path):
    (tmp_path / "run.jsonl").symlink_to("/dev/full")
    (tmp_path / "run.json.part").symlink_to("/dev/full")
    for name in ("run.jsonl", "run.json"):
        refused(capsys, ["run", *PAIR, *IDS, *FEW, "--trace", tmp_path / name], name, "No space left")


# -- bench ---


@pytest.mark.parametrize("content, words", [
    (None, ["No such file"]), (b"", ["no prompts"]), (b"\xff\x00", ["UTF-8"]), (b'{"prompt": "a"}\nnope\n', ["line 2", "not JSON"]),
    (b'{"other": 1}', ["line 1", '"prompt"', "question"]), (b"[]", ["no prompts"]), (b'["a", 5]', ["entry 2"]), (b'["a", ', ["no JSON array"]),
    (b"[1]\n[2]\n", ["line 1"]), (b'{"prompt": ""}', ["line 1", "is empty"]), (b'{"prompt": "\\ud83d"}', ["line 1"]),
    (b'{"prompt": ' + b"9" * 5000 + b"}", ["line 1", "number"]), (b"[" * 9999, ["nested too deeply"]), (b"7", ["line 1"]), (b'{"turns": [3]}', ["line 1"]),
    (b'{"turns": []}', ["line 1"]),
])
def test_bench_prompts_that_cannot_be_read(capsys, talking, tmp_path, content, words):
    path = tmp_path / "prompts.jsonl"
    if content is not None:
        path.write_bytes(content)
    refused(capsys, ["bench", *talking, "--prompts", path], *words)


def test_bench_of_nothing(capsys, talking, tmp_path):
    refused(capsys, ["bench", *talking, "--limit", "0"], "--limit is 0", "1 or more")
    target = shutil.copytree(talking[1], tmp_path / "target")
    (target / "generation_config.json").write_text(json.dumps({"eos_token_id": list(range(300))}))
    code, out, _ = call(capsys, "bench", "--target", target, *talking[2:], "--limit", "1", "--max-new-tokens", "4")
    assert code == 0 and "Nothing to measure" in out
