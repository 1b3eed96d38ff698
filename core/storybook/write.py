"""Let the storybook target write its own stories: what a head for it is trained on.

    python -m core.storybook.write --target DIR/target --out DIR/head/data --tokens 1000000

Writes shards (`core.train.corpus`) with their features; `python -m core train --target DIR/target --out DIR/head` goes on from there.
Shards that are there already are not written again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from ..pairs.checkpoint import load_target, load_tokenizer
from ..train.corpus import Shard, features_path
from ..train.selfgen import ANSWER_TEMPERATURES, BatchedLlama, choose
from .tell import opening

FIRST_OPENING_SEED = 500_000  # neither told to the target nor kept for measuring
OPENING_WORDS = (1, 24)  # how many words of a story a row is given, before the target goes on


@torch.inference_mode()
def write_shard(model, tokenizer, seed: int, rows: int = 250, length: int = 384, dtype: torch.dtype = torch.bfloat16) -> Shard:
    """Rows of stories. A story ends where the target ends it; then the row gets the opening of another one.

    Row r is written at ANSWER_TEMPERATURES[r % 5]. `answers` marks what the target wrote itself, ends included.
    """
    llama = BatchedLlama(model, dtype, rows, length)
    draw, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    temperatures = torch.from_numpy(np.resize(np.array(ANSWER_TEMPERATURES, np.float32), rows))
    end = tokenizer.eos_token_id
    ids = np.zeros((rows, length), np.int32)
    written = np.zeros((rows, length), bool)
    features = torch.empty(rows, length, llama.norm.shape[0], dtype=torch.float16)
    next_seed = FIRST_OPENING_SEED + seed * 4 * rows  # a row rarely holds more than three openings

    def begin() -> list[int]:
        nonlocal next_seed
        next_seed += 1
        return tokenizer(opening(next_seed, int(draw.integers(*OPENING_WORDS))))["input_ids"]

    given = [begin() for _ in range(rows)]
    ids[:, 0] = [tokens.pop(0) for tokens in given]
    for position in range(length):
        x = llama.step(torch.from_numpy(ids[:, position].astype(np.int64)), position)
        features[:, position] = x.to(torch.float16)
        if position + 1 == length:
            break
        chosen = choose(F.linear(x, llama.lm_head), temperatures, generator).numpy()
        for row in range(rows):
            if ids[row, position] == end:
                given[row] = begin()
            written[row, position + 1] = not given[row]
            ids[row, position + 1] = given[row].pop(0) if given[row] else chosen[row]
    return Shard(ids, written, features.numpy())


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m core.storybook.write", description=__doc__.split("\n")[0])
    parser.add_argument("--target", type=Path, required=True, help="the target's directory")
    parser.add_argument("--out", type=Path, required=True, help="directory for the shards")
    parser.add_argument("--tokens", type=int, default=1_000_000, help="how many (1000000)")
    args = parser.parse_args(argv)
    model, tokenizer = load_target(args.target, torch.device("cpu"), torch.float32, None), load_tokenizer(args.target)
    args.out.mkdir(parents=True, exist_ok=True)
    count = -(-args.tokens // (250 * 384))
    missing = [n for n in range(count) if not features_path(args.out / f"story-{n:05d}.npz").exists()]
    began = time.monotonic()
    for done, number in enumerate(missing, start=1):
        shard = write_shard(model, tokenizer, number)
        shard.save(args.out / f"story-{number:05d}.npz")
        rate = done * shard.rows.size / (time.monotonic() - began)
        print(f"shard {number}: {rate:.0f} tokens/s, {(len(missing) - done) * shard.rows.size / rate:.0f} s left", flush=True)


if __name__ == "__main__":
    main()
