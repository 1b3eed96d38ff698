"""What the tests of training share: a tokenizer of bytes, shards of text, the flags."""

import argparse
from pathlib import Path

import numpy as np
import torch

from core.cli.flags import add_training
from core.train.corpus import Shard, add_features, shard_paths

VOCAB = 300
GOLDEN = Path(__file__).parent / "golden"


class Bytes:
    """A tokenizer of bytes, with a chat template; 256 and 257 open and close a turn."""

    chat_template, eos_token_id = "yes", 257

    def __call__(self, text, add_special_tokens=False):
        marks = {"\x01": 256, "\x02": 257}
        return {"input_ids": [marks.get(c, ord(c) % 256) for c in text]}

    def apply_chat_template(self, turns, tokenize, add_generation_prompt=False):
        text = "".join(f"\x01{t['role'][0]}\n{t['content']}\x02\n" for t in turns)
        return "\x01s\nS\x02\n" + text + ("\x01a\n" if add_generation_prompt else "")


def shards(model, where: Path, count=2, rows=5, length=24) -> list[Path]:
    where.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        ids = np.random.default_rng(i).integers(0, 40, (rows, length))
        Shard(ids, np.ones(ids.shape, bool)).save(where / f"s{i}.npz")
        add_features(where / f"s{i}.npz", model, torch.float32)
    return shard_paths([where])


def arguments(out: Path, *more) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_training(parser)
    return parser.parse_args(["--target", "unused", "--out", str(out), "--positions", "96", "--unroll", "2",
                              "--vocab", "32", "--device", "cpu", *map(str, more)])
