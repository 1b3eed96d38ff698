"""A head that is about to learn to copy: where the training of the storybook's head starts.

    python -m core.storybook.head --target DIR/target --out DIR/start

Half of what a story says next was said in it before, above all its names. A head whose attention starts at random learns that
late or never (see `train.prepare`, where the target has the same trouble), so this one starts with attention that
makes likelier whatever word it attends to. Apart from that it is the trainer's own fresh head.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from ..model.eagle import EagleHead
from ..model.target import Target
from ..pairs.checkpoint import load_target
from ..train.training import fresh_head, save_head

COPIES = 2  # key-value heads that copy, the last ones; each sees its own part of the embedding


@torch.no_grad()
def copying_head(target: Target, intermediate: int, seed: int = 0, inward: float = 0.15, outward: float = 0.6) -> EagleHead:
    """A fresh head in which part of the embedding passes `fc`, and the copying heads bring it back out.

    inward: by how much the embedding is scaled down on its way in (embeddings are about seven times as large as features
    here); outward: by how much a copying head scales what it attends to.
    """
    head = fresh_head(target, intermediate, seed=seed)
    attention, width = head.layers[0].self_attn, target.hidden_size
    size = width // head.config.num_attention_heads
    shared = head.config.num_attention_heads // head.config.num_key_value_heads
    draw = torch.Generator().manual_seed(seed + 1)
    # orthonormal columns [H, COPIES * D]; inside, the words lie in other directions than where they count as predictions
    words, inside = (torch.linalg.qr(torch.randn(width, COPIES * size, generator=draw))[0] for _ in range(2))
    head.fc.weight[:, :width] += inward * inside @ words.T
    for projection in (attention.q_proj, attention.k_proj):
        projection.weight *= 10  # there is no norm before them, and what they read is small
    attention.v_proj.weight[-COPIES * size :] = inside.T
    for query in range(COPIES * shared):  # the last query heads; `shared` of them read one key-value head
        part = words[:, query // shared * size :][:, :size]
        attention.o_proj.weight[:, width - (COPIES * shared - query) * size :][:, :size] = outward * part
    return head


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m core.storybook.head", description=__doc__.split("\n")[0])
    parser.add_argument("--target", type=Path, required=True, help="the target's directory")
    parser.add_argument("--out", type=Path, required=True, help="directory for the head")
    parser.add_argument("--intermediate", type=int, default=1024, help="width of the head's MLP (1024)")
    args = parser.parse_args(argv)
    target = Target(load_target(args.target, torch.device("cpu"), torch.float32, None))
    save_head(copying_head(target, args.intermediate), args.out, torch.float32)


if __name__ == "__main__":
    main()
