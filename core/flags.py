"""The flags that `run` and `bench` share, and what they mean: a pair to load, the settings of a run."""

from __future__ import annotations

import argparse
import sys

from .config import DecodeConfig, candidate_count
from .errors import UserError


def add_pair(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("pair")
    group.add_argument("--pair", help="a named pair, like smollm2-135m (the default without --target)")
    group.add_argument("--target", help="directory or hub id of a Llama")
    group.add_argument("--draft", help="directory or hub id of its EAGLE-1/2 head")
    group.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:N")
    group.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16")
    group.add_argument("--device-map", choices=["auto"], help="spread a large target over GPUs (accelerate)")


def add_settings(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("settings")
    group.add_argument("--top-k", type=int, default=10, help="children per node and nodes expanded per layer (10)")
    group.add_argument("--depth", type=int, default=5, help="beam passes after the first: depth + 1 layers (5)")
    group.add_argument("--total-tokens", type=int, help="drafted nodes kept, root not counted (59, or all there are)")
    group.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (0)")
    group.add_argument("--top-p", type=float, default=1.0, help="nucleus of the target's distribution (1)")
    group.add_argument("--sample-top-k", type=int, default=0, help="keep the target's k likeliest tokens (0: all)")
    group.add_argument("--seed", type=int, default=0)
    group.add_argument("--max-new-tokens", type=int, default=128)
    group.add_argument("--draft-vocab", type=int, default=0, help="draft among the N most frequent tokens only (0: all)")
    group.add_argument("--stop-ids", default="", help="token ids that end the output, like 2,13")


def config_of(args: argparse.Namespace) -> DecodeConfig:
    """The settings; total_tokens left out means 59, or every candidate where there are fewer."""
    total = args.total_tokens
    if total is None:
        total = min(59, max(1, candidate_count(args.top_k, args.depth)))
    return DecodeConfig(top_k=args.top_k, depth=args.depth, total_tokens=total, max_new_tokens=args.max_new_tokens,
                        temperature=args.temperature, top_p=args.top_p, sample_top_k=args.sample_top_k, seed=args.seed,
                        draft_vocab=args.draft_vocab,
                        stop_ids=tuple(id_list(args.stop_ids, "--stop-ids")))


def id_list(text: str, flag: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")] if text.strip() else []
    except ValueError:
        raise UserError(f"{flag} is {text!r}; give whole numbers with commas between, like 5,17,3.") from None


def pair_of(args: argparse.Namespace):
    """Load the pair that the flags name, progress on stderr."""
    if bool(args.target) != bool(args.draft):
        raise UserError("--target and --draft go together; give both, or --pair.")
    if args.pair and args.target:
        raise UserError("Give either --pair or --target and --draft, not both.")
    from . import checkpoint, pairs  # torch comes in here, after the flags have been read
    if args.target:
        return checkpoint.load_pair(args.target, args.draft, args.device, args.dtype, args.device_map)
    return pairs.load_named(args.pair or "smollm2-135m", args.device, args.dtype, progress_line, args.device_map)


def progress_line(message: str, fraction: float | None = None) -> None:
    if fraction is None:
        print(message, file=sys.stderr)
    elif sys.stderr.isatty():
        print(f"\r{message}", end="\n" if fraction >= 1 else "", file=sys.stderr, flush=True)
