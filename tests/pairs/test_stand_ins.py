"""Something else in a file's place: what a clone leaves, a link to nothing, a folder, a web page."""

import json

import pytest
import torch
from pair_files import copy_of_head, copy_of_target, refused, whole_pair
from safetensors.torch import load_file
from toy_tokenizers import byte_level

from core import load_pair

whole = pytest.fixture(scope="module", name="whole")(whole_pair)
target = pytest.fixture(name="target")(copy_of_target)
head = pytest.fixture(name="head")(copy_of_head)

LFS = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 4976698672\n"
ANNEX = "/annex/objects/SHA256E-s4976698672--0123.safetensors\n"
PAGE = "\n<!DOCTYPE html><html><body>Please log in.</body></html>"


def only_weights(directory, name):
    """The same weights under another name of transformers', in one file or behind an index -> the file they are in."""
    tensors = load_file(directory / "model.safetensors")
    file, index = name.removesuffix(".index.json"), name.endswith(".index.json")
    if not file.endswith(".safetensors"):
        torch.save(tensors, directory / file)
        (directory / "model.safetensors").unlink()
    if index:
        shard = (directory / file).rename(directory / file.replace(".", "-00001-of-00001."))
        (directory / name).write_text(json.dumps({"weight_map": dict.fromkeys(tensors, shard.name)}))
        return shard
    return directory / file


@pytest.mark.parametrize("what", ["target", "head"])
@pytest.mark.parametrize("name", [f"{file}{end}" for file in ("model.safetensors", "pytorch_model.bin")
                                  for end in ("", ".index.json")])
@pytest.mark.parametrize("content, words", [(LFS, ("Git LFS pointer", "run `git lfs pull`")),
                                            (ANNEX, ("git-annex pointer", "git annex get")),
                                            (PAGE, ("a web page", "hf download"))])
def test_weights(target, head, what, name, content, words):
    path = only_weights({"target": target, "head": head}[what], name)
    path.write_text(content)
    refused(target, head, str(path), *words)


@pytest.mark.parametrize("what", ["target", "head"])
def test_a_config(target, head, what):
    path = {"target": target, "head": head}[what] / "config.json"
    path.write_text(LFS)
    refused(target, head, str(path), "Git LFS pointer", "git lfs pull")


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model", "tokenizer_config.json", "vocab.json"])
def test_a_tokenizer(target, head, name):
    if name == "tokenizer_config.json":
        byte_level(90).save_pretrained(target)
    (target / name).write_text(LFS)
    refused(target, head, str(target / name), "Git LFS pointer", "git lfs pull")


def test_a_tokenizer_that_is_not_read_may_be_a_pointer(target, head):
    byte_level(90).save_pretrained(target)
    (target / "tokenizer.model").write_text(LFS)
    assert load_pair(target, head, device="cpu").tokenizer is not None


@pytest.mark.parametrize("what", ["target", "head"])
def test_a_link_to_nothing(target, head, what):
    path = {"target": target, "head": head}[what] / "model.safetensors"
    path.unlink()
    path.symlink_to("../../blobs/0123")
    refused(target, head, str(path), "a link to ../../blobs/0123, where nothing is", "fetch or copy it again")


def test_a_folder_in_the_place_of_a_targets_weights(target, head):
    """What zero_to_fp32 leaves; a head in such a folder loads (test_heads.py)."""
    path = only_weights(target, "pytorch_model.bin")
    inner = path.rename(target / "inner")
    path.mkdir()
    inner.rename(path / "pytorch_model.bin")
    refused(target, head, str(path), "is a folder", "move the file out of it")


def test_what_is_not_read_may_be_a_pointer(target, head):
    """A clone of the safetensors only: the pickles beside them stay pointers."""
    (target / "pytorch_model.bin").write_text(LFS)
    (head / "pytorch_model.bin").write_text(LFS)
    load_pair(target, head, device="cpu")


@pytest.mark.parametrize("name", ["model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"])
def test_an_empty_file(target, head, name):
    path = only_weights(target, name)
    path.write_bytes(b"")
    refused(target, head, str(target), "truncated or broken", path.name, "copy them again")
