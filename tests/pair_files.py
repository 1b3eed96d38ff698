"""A sound pair to break: copies of a small target and head, and ways to change their files."""

import json
import shutil

import pytest
from pair_maker import make_head, make_target
from safetensors.torch import load_file, save_file

from core import CheckpointError, load_pair


def whole_pair(tmp_path_factory):
    """A sound target and head, never changed: tests copy them."""
    folder = tmp_path_factory.mktemp("whole")
    target = make_target(folder / "target")
    return target, make_head(folder / "head", target)


def copy_of_target(whole, tmp_path):
    return shutil.copytree(whole[0], tmp_path / "target")


def copy_of_head(whole, tmp_path):
    return shutil.copytree(whole[1], tmp_path / "head")


def edit(directory, name="config.json", **changes):
    """Change keys of a JSON file; None removes one."""
    path = directory / name
    values = json.loads(path.read_text()) if path.exists() else {}
    values |= changes
    path.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))


def edit_tensors(directory, change):
    tensors = load_file(directory / "model.safetensors")
    change(tensors)
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})


def refused(target, head, *words, **how):
    """Loading is refused with one sentence that holds the words."""
    with pytest.raises(CheckpointError) as caught:
        load_pair(target, head, device=how.pop("device", "cpu"), **how)
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith("."), sentence
    for word in words:
        assert word in sentence, sentence
