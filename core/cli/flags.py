"""The flags of the commands and what they mean: a pair to load, the settings of a run or of a training."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from ..common.ink import say
from ..config import DecodeConfig
from ..errors import UserError
from ..model.threads import choose
from ..policies import SHIPPED, find
from ..policies.eagle2 import round_cost
from ..policies.policy import Knob, brief

COSTLY = 10_000  # candidates of a round, above which it is said what they cost


def own_path(text: str) -> Path:
    """A path as typed; a shell leaves the ~ of --flag=~/x to the program."""
    return Path(os.path.expanduser(text))


def add_pair(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("pair")
    group.add_argument("--pair", help="a named pair, like smollm2-135m (the default without --target)")
    group.add_argument("--target", type=os.path.expanduser, help="directory or hub id of a Llama")
    group.add_argument("--draft", type=os.path.expanduser, help="directory or hub id of its EAGLE-1/2 head")
    group.add_argument("--target-embedding", action="store_true", help="the head reads the target's embedding, not its own")
    group.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:N")
    group.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16")
    group.add_argument("--threads", type=int, help="of a CPU; one for small models, else all, unless this says so")
    group.add_argument("--device-map", choices=["auto"], help="spread a large target over GPUs (accelerate)")
    group.add_argument("--chat-template", type=os.path.expanduser, metavar="NAME-or-FILE",
                       help="wrap prompts in this template: one of the tokenizer's by name, vicuna, or a file of Jinja")


def add_settings(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("settings")
    group.add_argument("--policy", default=SHIPPED[0], metavar="NAME",
                       help=f"the way to draft: {', '.join(SHIPPED)}, or module:object of your own ({SHIPPED[0]})")
    group.add_argument("--preset", choices=["paper", "cpu"], default="paper",
                       help="of eagle2: the papers' tree, or the small one that pays on a CPU, as the pair recommends it; the "
                            "flags below change single settings of it (paper)")
    for name, found in _knobs().items():
        group.add_argument("--" + name.replace("_", "-"), type=int,
                           help="; ".join(f"of {policy}: {knob.says} ({knob.default})" for policy, knob in found))
    group.add_argument("--knob", action="append", default=[], metavar="NAME=N",
                       help="of a policy of your own, or a list as JSON: 'tree=[[0],[1],[0,0]]' (repeatable)")
    group.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (0)")
    group.add_argument("--top-p", type=float, default=1.0, help="nucleus of the target's distribution (1)")
    group.add_argument("--sample-top-k", type=int, default=0, help="keep the target's k likeliest tokens (0: all)")
    group.add_argument("--seed", type=int, default=0, help="of the draws, where temperature is above 0 (0)")
    group.add_argument("--max-new-tokens", type=int, default=128, help="when a run ends at the latest (128)")
    group.add_argument("--draft-vocab", type=int, help="draft among the N most frequent tokens only (0: all)")
    group.add_argument("--stop-ids", default="", help="token ids that end the output, like 2,13")


def add_training(parser: argparse.ArgumentParser) -> None:
    """The flags of `python -m core train`."""
    add = parser.add_argument
    add("--target", required=True, type=os.path.expanduser, help="directory or hub id of the target, a Llama")
    add("--out", required=True, type=own_path, help="directory for text, features, state and the head")
    add("--init", type=os.path.expanduser, help="head to start from; otherwise small random weights that pass the feature on")
    add("--data", action="append", default=[], type=own_path, help="more directories of shards (repeatable)")
    add("--text", type=own_path, help="training text: .txt, or JSON lines or an array with \"text\", \"messages\", \"conversations\"")
    add("--write", type=int, default=0, metavar="TOKENS", help="let the target write this much text first (in all)")
    add("--rows", type=int, default=256, help="rows of a shard that are written together (256)")
    add("--length", type=int, default=256, help="tokens in a row of text (256)")
    add("--minutes", type=float, default=60, help="training time, earlier runs in DIR included (60)")
    add("--positions", type=int, default=1024, help="tokens in a step, all processes together (1024)")
    add("--lr", type=float, default=1e-3, help="peak learning rate (0.001)")
    add("--unroll", type=int, default=3, help="self-fed steps, the first one on true features included (3)")
    add("--decay", type=float, default=0.8, help="weight of each further self-fed step (0.8)")
    add("--noise", type=float, default=0.2, help="width of the uniform noise on the features (0.2)")
    add("--feature-weight", type=float, default=0.5, help="weight of the smooth L1 on the features (0.5)")
    add("--vocab", type=int, default=8192, help="score the loss over this many of the most frequent tokens (8192)")
    add("--intermediate", type=int, help="width of a new head's MLP (the target's)")
    add("--kv-heads", type=int, help="key-value heads of a new head (the target's)")
    add("--held-out", type=own_path, help="a shard to report on, never trained (default: the first one)")
    add("--report-every", type=float, default=5, metavar="MINUTES", help="between reports and saved heads (5)")
    add("--device", default="auto", help="auto, cpu, cuda, cuda:N")
    add("--precision", default="auto", choices=("auto", "float32", "bfloat16"), help="of the matrix products")
    add("--seed", type=int, default=0)


def _knobs() -> dict:
    """The knobs of our policies that are numbers: name -> (policy, Knob) of each that has it."""
    found: dict = {}
    for policy in SHIPPED:
        for name, knob in find(policy).knobs.items():
            if isinstance(knob, Knob):
                found.setdefault(name, []).append((policy, knob))
    return found


def config_of(args: argparse.Namespace) -> DecodeConfig:
    """The settings: what the flags say, then the preset."""
    policy = find(args.policy)
    given = {name: getattr(args, name) for name in (*_knobs(), "draft_vocab") if getattr(args, name) is not None}
    for text in args.knob:
        name, _, value = text.partition("=")
        try:
            given[name] = json.loads(value) if value[:1] == "[" else int(value)
        except (ValueError, RecursionError):
            raise UserError(f"--knob is {brief(text)}; give a name and a whole number, like width=3, or a list, like "
                            "tree=[[0],[1],[0,0]].") from None
    if args.preset == "cpu":
        given = _preset(args) | given
    common = {"draft_vocab": given.pop("draft_vocab", 0)}
    return DecodeConfig(policy, **policy.fitting(given), **common, max_new_tokens=args.max_new_tokens,
                        temperature=args.temperature, top_p=args.top_p, sample_top_k=args.sample_top_k, seed=args.seed,
                        stop_ids=tuple(id_list(args.stop_ids, "--stop-ids")))


def _preset(args: argparse.Namespace) -> dict:
    from ..pairs.named import DEFAULT, named
    if args.policy != SHIPPED[0]:
        raise UserError(f"--preset cpu is a tree of {SHIPPED[0]}; leave it out with --policy {args.policy}.")
    shape = None if args.target else named(args.pair or DEFAULT).cpu
    if shape is None:
        raise UserError("This pair recommends no settings for a CPU; leave out --preset, or give --top-k, --depth and "
                        "--total-tokens.")
    return shape


def tell_cost(config: DecodeConfig) -> None:
    """A line on stderr where a round is a large one."""
    if config.bounds.candidates > COSTLY:
        print(f"A round scores {round_cost(config.bounds.candidates)}; a smaller tree costs less.", file=sys.stderr)


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
    choose(args.threads)
    from ..pairs import checkpoint
    from ..pairs import named as pairs  # torch comes in here, after the flags have been read
    where = args.device, args.dtype
    more = {"device_map": args.device_map, "target_embedding": args.target_embedding}
    if args.target:
        pair = checkpoint.load_pair(args.target, args.draft, *where, **more)
    else:
        pair = pairs.load_named(args.pair or pairs.DEFAULT, *where, progress=progress_line, **more)
    if args.chat_template:
        from ..pairs.chat import choose_template
        choose_template(pair, args.chat_template)
    return pair


_standing = 0  # columns of the line on the terminal that tells how far something is


def progress_line(message: str, fraction: float | None = None) -> None:
    """A line on stderr for the person waiting. One that says how far something is (0..1) is for a terminal, where the next
    takes its place, or `clear_line`; only that of a whole (1) stays."""
    global _standing
    if fraction is not None and not sys.stderr.isatty():
        return
    clear_line()
    done = fraction is None or fraction >= 1
    say(message, end="\n" if done else "", file=sys.stderr, flush=True)
    _standing = 0 if done else len(message)


def clear_line() -> None:
    """Take away what `progress_line` left unfinished."""
    global _standing
    if _standing:
        print("\r" + " " * _standing, end="\r", file=sys.stderr, flush=True)
        _standing = 0
