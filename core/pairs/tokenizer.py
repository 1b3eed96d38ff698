"""A checkpoint's tokenizer in: transformers' own, where it can be had, or one sentence that says why not.

What transformers leaves to whoever wrote the files is looked at first: a SentencePiece model wants packages of its
own, and special tokens that are the empty text are none. And tokenizer.json is what it says, whatever class is named
beside it.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from ..common.files import CheckpointError, quiet_transformers, read_json, reason, refuse_stand_in

VOCABULARIES = ("tokenizer.json", "tokenizer.model", "vocab.json", "tekken.json")  # the first that is there is read


def load_tokenizer(directory: Path):
    """The directory's tokenizer, or None where it has none. Raises CheckpointError."""
    directory = Path(directory)
    words = next((name for name in VOCABULARIES if os.path.lexists(directory / name)), None)
    if words is None:  # a config alone holds none
        return None
    for name in (words, "tokenizer_config.json", *("merges.txt",) * (words == "vocab.json")):
        refuse_stand_in(directory / name)
    _check_packages(directory)
    empty = _empty_tokens(directory)
    try:
        with quiet_transformers():  # what it says of its own ways comes before a sentence that is enough
            tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True, trust_remote_code=False,
                                                      **empty)
        for name in empty:  # special_tokens_map.json is stronger than what is asked for
            setattr(tokenizer, name, None)
        if type(tokenizer) is not PreTrainedTokenizerFast and isinstance(tokenizer, PreTrainedTokenizerFast):
            _take_as_written(tokenizer, directory / "tokenizer.json")
        return tokenizer
    except Exception as error:  # tokenizers raises bare Exceptions
        raise CheckpointError(f"The tokenizer in {directory} cannot be loaded ({reason(error)}); copy the checkpoint "
                              "again, or move its tokenizer's files away and give --ids.") from None


def _take_as_written(tokenizer: PreTrainedTokenizerFast, path: Path) -> None:
    """transformers 5 builds some classes (LlamaTokenizer, GPT2Tokenizer) anew from the vocabulary alone, in the way that
    is usual for them: spaces, digits and what follows a special token may get other ids than the file gives."""
    if path.exists():
        written, built = Tokenizer.from_file(str(path)), tokenizer.backend_tokenizer
        known = {token.content for token in written.get_added_tokens_decoder().values()}
        added = built.get_added_tokens_decoder()  # some may be named in tokenizer_config.json only
        written.add_tokens([added[i] for i in sorted(added) if added[i].content not in known])
        written.post_processor = built.post_processor  # knows of add_bos_token
        tokenizer._tokenizer = written


def _check_packages(directory: Path) -> None:
    """A tokenizer.model alone is turned into a tokenizer by packages that transformers does without otherwise."""
    path = directory / "tokenizer.model"
    if (directory / "tokenizer.json").exists() or not path.exists():
        return
    with open(path, "rb") as file:
        sentencepiece = file.read(1) == b"\n"  # a protocol buffer; the other kind is lines of text, Llama-3's own
    kind = "SentencePiece" if sentencepiece else "tiktoken"
    packages = ("sentencepiece", "google.protobuf") if sentencepiece else ("tiktoken",)
    lacking = [name.replace("google.", "") for name in packages if not _installed(name)]
    if lacking:
        raise CheckpointError(f"The tokenizer in {directory} is a {kind} model without tokenizer.json; run pip install "
                              f"{' '.join(lacking)}, or give --ids.")


def _installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # its parent is not there
        return False


def _empty_tokens(directory: Path) -> dict[str, None]:
    """Special tokens that the files give as "": transformers looks for the id of the unknown token, which is the id of
    the unknown token's text, and so on without end."""
    empty = {}
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        config = read_json(directory / name) if (directory / name).exists() else {}
        for key, value in config.items():
            if key.endswith("_token") and (value.get("content") if isinstance(value, dict) else value) == "":
                empty[key] = None
    return empty
