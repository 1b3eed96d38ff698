"""Pairs from the hub's cache, as `hf download` and transformers leave it: what is there is taken, what lacks, named."""

import json
import os
import shutil

import pytest
from huggingface_hub import constants
from pair_files import copy_of_head, copy_of_target, refused, whole_pair
from safetensors.torch import load_file, save_file
from test_checkpoint import decoded
from toy_tokenizers import byte_level

from core import load_pair
from core.pairs.hub import in_cache, snapshot

whole = pytest.fixture(scope="module", name="whole")(whole_pair)
target = pytest.fixture(name="target")(copy_of_target)
head = pytest.fixture(name="head")(copy_of_head)

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def cached(hub, name, source, listed=()):
    """`source` as the snapshot of a repository whose listing names its files and those of `listed` -> the snapshot."""
    folder = hub / f"models--{name.replace('/', '--')}"
    there = folder / "snapshots" / COMMIT
    shutil.copytree(source, there)
    (folder / "refs").mkdir()
    (folder / "refs/main").write_text(COMMIT)
    files = [*os.listdir(source), *listed]
    (folder / "trees").mkdir()
    (folder / "trees" / f"{COMMIT}.json").write_text(json.dumps(
        {"format_version": 1, "files": {file: {"size": 3, "blob_id": "0" * 40} for file in files}}))
    return there


@pytest.mark.parametrize("listed", [
    ["original/params.json", "original/tokenizer.model", "original/consolidated.00.pth"],  # --exclude "original/*"
    ["checkpoint-500/config.json", "checkpoint-500/model.safetensors"],
    ["onnx/config.json", "pytorch_model.bin", "flax_model.msgpack"],  # as transformers leaves it: what it loads
    ["consolidated.safetensors", "training_args.json", "special_tokens_map.json"],
])
def test_what_is_not_loaded_may_lack(target, head, hub, listed):
    plain = decoded(target, head)
    byte_level(90).save_pretrained(target)
    cached(hub, "someone/model", target, listed)
    cached(hub, "someone/head", head, listed)
    assert decoded("someone/model", "someone/head") == plain
    pair = load_pair("someone/model", "someone/head", device="cpu")
    assert pair.name == "someone/model + someone/head" and pair.tokenizer is not None
    assert in_cache("someone/model") and in_cache("someone/head")


@pytest.mark.parametrize("what", ["target", "head"])
@pytest.mark.parametrize("name", ["model.safetensors", "model-00002-of-00002.safetensors", "config.json"])
@pytest.mark.parametrize("listing", [True, False])
def test_what_is_loaded_and_lacks_is_named_with_the_id(target, head, hub, what, name, listing):
    sound, lacking = (head, target) if what == "target" else (target, head)
    lacks_in_the_cache(lacking, hub, name, listing)
    pair = ("someone/model", sound) if what == "target" else (sound, "someone/model")
    words = [] if listing and name == "config.json" else [name, "hf download someone/model"]
    refused(*pair, "someone/model", *words)
    assert not in_cache("someone/model")


def lacks_in_the_cache(target, hub, name, listing):
    if name.startswith("model-"):
        shards = ["model-00001-of-00002.safetensors", name]
        tensors = load_file(target / "model.safetensors")
        (target / "model.safetensors").unlink()
        for shard, part in zip(shards, (0, 1)):
            save_file({n: t for i, (n, t) in enumerate(tensors.items()) if i % 2 == part}, target / shard)
        where = {n: shards[i % 2] for i, n in enumerate(tensors)}
        (target / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    (target / name).unlink()
    there = cached(hub, "someone/model", target, [name])
    if not listing:
        shutil.rmtree(there.parent.parent / "trees")


def test_a_folder_of_the_cache_as_a_target_and_as_a_head(target, head, hub):
    plain = decoded(target, head)
    cached(hub, "someone/model", target)
    cached(hub, "someone/head", head)
    folders = [hub / "models--someone--model", hub / "models--someone--head"]
    assert decoded(*folders) == plain
    assert load_pair(*folders, device="cpu").name == "someone/model + someone/head"
    (folders[0] / "refs/main").unlink()
    assert decoded(*folders) == plain  # one snapshot: it is the one
    shutil.copytree(folders[0] / "snapshots" / COMMIT, folders[0] / "snapshots" / "fedc")
    refused(*folders, str(folders[0]), "holds 2 snapshots", "give one of them")
    shutil.rmtree(folders[0] / "snapshots")
    (folders[0] / "snapshots").mkdir()
    refused(*folders, "holds no snapshot of someone/model", "hf download someone/model")
    refused(hub, head, str(hub), "the hub's cache", "hub id")


def test_only_the_files_at_the_root_are_asked_for(monkeypatch, tmp_path):
    """Whatever the patterns are, a file in a folder matches none of them, and what transformers loads matches one."""
    import huggingface_hub
    from huggingface_hub.utils import filter_repo_objects

    files = ["config.json", "tokenizer.model", "merges.txt", "chat_template.jinja", "model-00001-of-00002.safetensors",
             "model.safetensors.index.json"]
    others = ["original/params.json", "original/tokenizer.model", "checkpoint-500/model.safetensors", "README.md"]
    kept = []

    def download(name, allow_patterns, ignore_patterns):
        kept[:] = filter_repo_objects(files + others, allow_patterns=allow_patterns, ignore_patterns=ignore_patterns)
        (tmp_path / "model.safetensors").touch()
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    from core.pairs.hub import SMALL, find
    find("someone/model", "target")
    assert sorted(kept) == sorted(files)
    snapshot("someone/model", SMALL)
    assert sorted(kept) == sorted(name for name in files if not name.endswith(".safetensors"))
