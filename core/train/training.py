"""The parts of training that are no training: processes that share the work, text made ready, small helpers.

`train.py` is the loop; this keeps it readable.
"""

from __future__ import annotations

import json
import math
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from safetensors.torch import save_file
from transformers.models.llama.configuration_llama import LlamaConfig

from .. import decoder
from ..common.ink import say
from ..config import DecodeConfig
from ..errors import UserError
from ..model.eagle import EagleHead
from ..model.pair import Pair
from ..model.rope import context_of
from .corpus import Shard, add_features, features_path, import_text, shard_paths
from .made import Facts, remember
from .objective import chain_lengths, head_loss
from .selfgen import ANSWER_TEMPERATURES, Author


@dataclass(slots=True)
class Progress:
    """How far the training is: enough to go on from, with the batches still in the same order.

    shards lists the files of the running epoch; stop is set when any process was asked to stop.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    shards: list[str] = field(default_factory=list)
    stop: bool = False


class Team:
    """The processes that train together: one, or as many as torchrun started (gloo, so CPUs will do).

    Used as a context: inside it a first Ctrl-C or SIGTERM only sets `stop`, and everyone stops after the same step;
    a second Ctrl-C interrupts at once.
    """

    def __init__(self):
        self.size, self.rank, self.stop = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0)), False

    def __enter__(self) -> Team:
        self._own = self.size > 1 and not dist.is_initialized()
        if self._own:
            dist.init_process_group("gloo")
        try:
            self._before = {s: signal.signal(s, self._asked) for s in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not the main thread: whoever runs us there handles signals
            self._before = {}
        return self

    def __exit__(self, *_) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._own:
            dist.destroy_process_group()

    def _asked(self, number, frame) -> None:
        if self.stop and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.stop = True
        self.say("stopping after this step; once more to stop at once")

    def total(self, numbers) -> torch.Tensor:
        """The sum over all processes of a flat CPU tensor or a list of numbers; it makes them wait for each other."""
        numbers = torch.as_tensor(numbers, dtype=torch.float32).clone()
        if self.size > 1:
            dist.all_reduce(numbers)
        return numbers

    def same(self, value):
        """The first process' value, on every process."""
        box = [value]
        if self.size > 1:
            dist.broadcast_object_list(box)
        return box[0]

    def say(self, text: str) -> None:
        if self.rank == 0:
            say(f"[{time.strftime('%H:%M:%S')}] {text}", flush=True)


def prepare(args, data: Path, model, tokenizer, dtype: torch.dtype, team: Team, facts: Facts) -> bool:
    """Text, then features for every shard that lacks them, shared between the processes. False: interrupted.

    facts: what the folders are to remember, once there is something made of it.
    """
    if (args.text or args.write) and tokenizer is None:
        raise UserError("the target has no tokenizer, so it has no text; give shards of tokens with --data.")
    if args.text and team.rank == 0 and not list(data.glob("text-*.npz")):
        import_text(args.text, tokenizer, args.length, data, args.rows)
    count, per_shard = math.ceil(args.write / (args.rows * args.length)), args.rows * args.length
    missing = [p for p in (data / f"self-{i:05d}.npz" for i in range(count)) if not p.exists()]
    missing = team.same(missing)
    author = Author(model, tokenizer, args.rows, args.length, dtype) if missing[team.rank :: team.size] else None
    if team.rank == 0:
        remember(args.out, facts)
    began = time.monotonic()
    for done, path in enumerate(missing[team.rank :: team.size], start=1):
        shard = author.write(int(path.stem.removeprefix("self-")), lambda: team.stop)
        if shard is None:
            break
        shard.save(path)
        rate = done * per_shard * team.size / (time.monotonic() - began)
        left = max(0, len(missing) - done * team.size) * per_shard
        team.say(f"wrote {path.name}: {rate:.0f} tokens/s, {left} tokens or {clock(left / rate)} left")
    del author
    if team.total([float(team.stop)])[0]:  # also: whoever is done waits for the others' text
        return False
    found = shard_paths([data, *args.data])
    check_shards(found, model)
    if team.rank == 0:
        for folder in {path.parent for path in found}:
            remember(folder, {"--target": facts["--target"]})
    lacking = team.same([p for p in found if not features_path(p).exists()])
    for done, path in enumerate(lacking[team.rank :: team.size], start=1):
        if team.stop:
            break
        add_features(path, model, dtype, stop=lambda: team.stop)
        team.say(f"features of {path.name}: {done * team.size} of {len(lacking)} shards")
    model.float()
    return not team.total([float(team.stop)])[0]


def check_shards(paths: list[Path], model) -> None:
    """Raises UserError where a shard is not for this model: rows longer than its context, or ids that it has not."""
    context, vocab = context_of(model.config), model.get_input_embeddings().num_embeddings
    for path in paths:
        rows = Shard.load(path).rows
        if rows.shape[1] > context:
            raise UserError(f"The rows of {path} are {rows.shape[1]} tokens long, and the target's context is {context}; give "
                            f"shards with rows of {context} tokens or fewer.")
        if rows.max(initial=0) >= vocab or rows.min(initial=0) < 0:
            raise UserError(f"{path} holds token ids that the target has not (its ids run from 0 to {vocab - 1}); give shards of "
                            "its own tokenizer's.")


def fresh_head(target, intermediate: int | None = None, kv_heads: int | None = None, seed: int = 0) -> EagleHead:
    """A new head in the target's shape: small random weights, and `fc` near the identity on the feature half.

    So at first it passes the feature on, and everything else is learned around that. (Starting from the
    target's last layer diverges with small targets: its weights live at another scale.)
    """
    theirs = target.model.config
    config = LlamaConfig(
        hidden_size=target.hidden_size, vocab_size=target.vocab_size, num_hidden_layers=1,
        intermediate_size=intermediate or theirs.intermediate_size, num_attention_heads=theirs.num_attention_heads,
        num_key_value_heads=kv_heads or theirs.num_key_value_heads, hidden_act=theirs.hidden_act,
        rms_norm_eps=theirs.rms_norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": theirs.rope_parameters["rope_theta"]},
        max_position_embeddings=target.context)
    config._attn_implementation = "sdpa"
    head = EagleHead(config, target.model.model.embed_tokens, bias=False)
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in head.parameters():
            if weight.dim() == 2:
                weight.copy_(torch.randn(weight.shape, generator=draw) * 0.02)
        head.fc.weight[:, target.hidden_size :] += torch.eye(target.hidden_size)
    return head


def save_head(head: EagleHead, directory: Path, dtype: torch.dtype = torch.float16) -> None:
    """`config.json` and `model.safetensors` in the official EAGLE-1/2 layout; the embedding stays the target's."""
    directory.mkdir(parents=True, exist_ok=True)
    config, rope = head.config, dict(head.config.rope_parameters)
    same = ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "hidden_act",
            "rms_norm_eps", "max_position_embeddings", "vocab_size")
    raw = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "bias": head.fc.bias is not None,
           "num_hidden_layers": 1, **{key: getattr(config, key) for key in same},
           "rope_theta": rope.pop("rope_theta"), "tie_word_embeddings": True}
    if (kind := rope.pop("rope_type")) != "default":
        raw["rope_scaling"] = {"type": kind} | rope
    tensors = {name: t.detach().to("cpu", dtype).contiguous() for name, t in head.state_dict().items()}
    save_file(tensors, directory / ".model.safetensors")
    os.replace(directory / ".model.safetensors", directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(raw, indent=1) + "\n")


@torch.no_grad()
def measure(head, embedding, lm_head, ids, shard: Shard, dtype, chain: int = 5, most: int = 60) -> dict:
    """How good a head is on a held-out shard, the first `most` rows of it.

    loss and agreement (the likeliest tokens of head and target are the same, over lm_head's rows) from true
    features; chain: the mean number of tokens that a self-fed greedy draft gets right in a row, of `chain`, on
    the rows that `selfgen` writes at temperature 0.
    """
    device, sums, lengths = embedding.device, np.zeros(3), []
    for at in range(0, min(most, len(shard.rows)), 4):
        part = slice(at, min(at + 4, most))
        tokens = torch.from_numpy(shard.rows[part].astype(np.int64)).to(device)
        features = torch.from_numpy(np.array(shard.features[part])).to(device).float()
        scored = torch.from_numpy(shard.answers[part]).to(device)
        loss, count, agreements = head_loss(head, embedding, lm_head, tokens, features, scored, steps=1,
                                            feature_weight=0.0, decay=1.0, dtype=dtype)
        sums += [float(loss), count, float(agreements[0])]
        greedy = [r for r in range(len(tokens)) if ANSWER_TEMPERATURES[(at + r) % len(ANSWER_TEMPERATURES)] == 0]
        if greedy:
            lengths.append(chain_lengths(head, embedding, lm_head, ids, tokens[greedy], features[greedy],
                                         scored[greedy], chain, dtype))
    count, lengths = max(sums[1], 1), torch.cat(lengths)
    by_depth = [round(int((lengths > d).sum()) / max(len(lengths), 1), 4) for d in range(chain)]
    return {"held_out_loss": round(sums[0] / count, 4), "held_out_agreement": round(sums[2] / count, 4),
            "chain": round(sum(by_depth), 4), "chain_by_depth": by_depth}


def measure_tau(pair: Pair, shard: Shard, prompts: int = 8, new_tokens: int = 96) -> float:
    """Tokens per round of the real decoder, greedy, with its default tree, on a shard's first questions."""
    rounds, committed, settings = 0, 0, DecodeConfig(max_new_tokens=new_tokens)
    for row, answers in zip(shard.rows[:prompts], shard.answers):
        start = int(answers.argmax()) or len(row) // 4  # up to the first answer, or a part of a text without turns
        start = min(start, pair.target.context - settings.positions)  # a row may be as long as the context
        for stage in decoder.rounds(pair, row[:start].tolist(), settings):
            if isinstance(stage, decoder.Committed):
                rounds, committed = rounds + 1, committed + stage.length_after - stage.length_before
    return committed / max(rounds, 1)


def learning_rate(step: int, done: float, warm_up: int) -> float:
    """A factor of the peak: linear warm-up by steps, cosine to zero by the part of the time that is `done` (0..1)."""
    return min(1.0, (step + 1) / warm_up) * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))


def fast_dtype(device: torch.device) -> torch.dtype:
    """bfloat16 where products in it are clearly faster here (they need not be on a CPU), else float32. Takes 50 ms."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        a, b = torch.randn(512, 512, dtype=dtype), torch.randn(512, 512, dtype=dtype)
        laps = []
        for _ in range(5):
            began = time.perf_counter()
            a @ b
            laps.append(time.perf_counter() - began)
        seconds[dtype] = min(laps)
    return min(seconds, key=seconds.get) if seconds[torch.bfloat16] * 1.3 < seconds[torch.float32] else torch.float32


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss."""
    seconds = int(seconds)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
