"""Train an EAGLE-1/2 head for a target: write text, keep the target's features, unroll the head, step.

    python -m core train --target T --out DIR --write 1000000 --minutes 120
    torchrun --nproc-per-node 2 -m core train ...        the same, shared between processes

Everything lives under DIR: data/ (text and features), head/ (the head so far, always usable), state.pt (to go on
from), log.jsonl. Stopping is safe at any moment; the same command goes on. Knows nothing of trees.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from ..common.documents import documents
from ..errors import UserError
from ..model.eagle import EagleHead
from ..model.target import Target
from ..pairs.checkpoint import choose_device, find, load_pair, load_target, load_tokenizer
from ..pairs.heads import load_head
from .corpus import Corpus, Shard, features_path, shard_paths
from .made import agree, fact, target_fact, text_fact
from .objective import head_loss
from .training import (
    Progress,
    Team,
    clock,
    fast_dtype,
    fresh_head,
    learning_rate,
    measure,
    measure_tau,
    prepare,
    save_head,
)

WARM_UP_STEPS = 100
SAVE_SECONDS = 60  # what a killed process loses at most


def main(args: argparse.Namespace) -> int:
    """Returns the exit status: 0 done, 130 interrupted (run again to go on). Raises UserError, one sentence."""
    for name in ("rows", "length", "minutes", "positions", "lr", "unroll", "vocab", "report_every"):
        if not getattr(args, name) > 0:
            raise UserError(f"--{name.replace('_', '-')} is {getattr(args, name)}; give more than 0.")
    data = args.out / "data"
    facts = {"--length": fact(args.length)} if args.text or args.write else {}
    if args.text:
        for _ in documents(args.text):  # a text that cannot be read is found before anything slow
            pass
        facts["--text"] = text_fact(args.text)
    _check_folder(data)
    agree(args.out, facts)
    with Team() as team:
        device = choose_device(args.device)
        if device.type == "cuda" and team.size > 1:
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        dtype = fast_dtype(device) if args.precision == "auto" else getattr(torch, args.precision)
        dtype = torch.bfloat16 if team.total([dtype == torch.bfloat16])[0] == team.size else torch.float32
        directory = find(args.target, "target")
        model = load_target(directory, device, torch.float32, None).requires_grad_(False)
        context, tokenizer = Target(model).context, load_tokenizer(directory)
        if (args.text or args.write) and args.length > context:
            raise UserError(f"--length is {args.length}, but the context of {args.target} is {context} tokens; give --length "
                            f"{context} or less.")
        facts["--target"] = team.same(target_fact(args.target, model, tokenizer) if team.rank == 0 else None)
        agree(args.out, facts)
        for folder in args.data:
            agree(folder, {"--target": facts["--target"]}, "give --data a copy of its shards without their .features.npy files")
        data.mkdir(parents=True, exist_ok=True)
        if not prepare(args, data, model, tokenizer, dtype, team, facts):
            return 130
        trainer = Trainer(args, model, [data, *args.data], dtype, team)
        status = trainer.run()
        if status == 0 and team.rank == 0:
            team.say("measuring tau with the decoder")
            pair = load_pair(directory, args.out / "head", str(device), "float32")
            team.say(f"tau {measure_tau(pair, Shard.load(trainer.held_out)):.3f} on held-out questions, greedy, "
                     f"float32, 59 nodes; the head is in {args.out / 'head'}")
        return status


def _check_folder(folder: Path) -> None:
    """Raises UserError where `folder` can neither be written to nor made."""
    place = folder
    while not os.path.exists(place):
        place = place.parent
    if not os.path.isdir(place):
        raise UserError(f"--out cannot be written: {place} is a file; give a directory, or one that does not exist yet.")
    if not os.access(place, os.W_OK | os.X_OK):
        raise UserError(f"--out cannot be written: {place} is not yours to write to; give a directory of your own.")


class Trainer:
    """One head, one target, one schedule. Every process holds the same weights and does its share of each batch."""

    def __init__(self, args, model, sources: list[Path], dtype: torch.dtype, team: Team):
        self.args, self.team, self.dtype, self.sources = args, team, dtype, sources
        target = Target(model)
        self.device = target.device
        if args.init:
            self.head = load_head(find(args.init, "head"), target)
            if not isinstance(self.head, EagleHead):
                raise UserError(f"--init {args.init} is an EAGLE-3 head, and what is trained here are EAGLE-1/2 heads; "
                                "give one of these, or leave --init out.")
        else:
            self.head = fresh_head(target, args.intermediate, args.kv_heads, args.seed)
        self.head = self.head.to(self.device, torch.float32).requires_grad_(True)
        self.average = copy.deepcopy(self.head).requires_grad_(False)  # what is reported and shipped
        self.weights = [p for p in self.head.parameters()]
        self.optimizer = torch.optim.AdamW(self.weights, lr=args.lr, betas=(0.9, 0.99), weight_decay=0.01, fused=True)
        self.progress = Progress()
        found = shard_paths(sources)
        if not args.held_out and not found:
            raise UserError("there is no training text; let the target write some (--write), or give --text or --data.")
        self.held_out = args.held_out or found[0]
        self.corpus, self.vocabulary = None, None
        embedding, lm_head = model.get_input_embeddings().weight, model.get_output_embeddings().weight
        self.rows = len(lm_head)
        self.resume()
        if self.vocabulary is None:
            self.open_corpus(self.listed())
            count = min(args.vocab, len(lm_head))
            self.vocabulary = torch.from_numpy(self.corpus.frequent(count, len(lm_head))).long()
        self.ids = self.vocabulary.to(self.device)
        self.embedding, self.lm_head = embedding.to(dtype), lm_head[self.ids].to(dtype)

    def listed(self) -> list[str]:
        """The shards on disk now, the held-out one left out: text written meanwhile joins at the next epoch."""
        held = self.held_out.resolve()
        return [str(p) for p in shard_paths(self.sources) if p.resolve() != held and features_path(p).exists()]

    def open_corpus(self, names: list[str]) -> None:
        if not names:
            rows, length = self.args.rows, self.args.length
            raise UserError("there is no training text besides the held-out shard; give more: a --text of at least "
                            f"{2 * length:,} tokens in a new --out, --write {2 * rows * length} or more, or two shards "
                            "with --data.")
        self.corpus = Corpus([Path(n) for n in names])

    def run(self) -> int:
        """Train until the minutes are used up; 0 when they are, 130 when interrupted."""
        args, team, at = self.args, self.team, self.progress
        began = time.monotonic() - at.seconds
        save_at, report_at = at.seconds + SAVE_SECONDS, at.seconds + 60 * args.report_every
        tally = np.zeros(2 + args.unroll)
        while True:
            if not at.shards:
                at.shards = team.same(self.listed())
            if self.corpus is None or [str(p) for p in self.corpus.paths] != at.shards:
                self.open_corpus(at.shards)
            schedule = self.corpus.schedule(at.epoch, args.positions, args.seed)
            while at.batch < len(schedule):
                tally += self.step(schedule[at.batch], time.monotonic() - began)
                at.batch += 1
                finished, stopped = at.seconds >= 60 * args.minutes, at.stop
                if finished or stopped or at.seconds >= report_at:
                    self.report(tally, len(schedule))
                    tally[:] = 0
                    report_at = at.seconds + 60 * args.report_every
                elif at.seconds >= save_at:
                    self.save()
                    save_at = at.seconds + SAVE_SECONDS
                if stopped:
                    team.say("stopped; the same command goes on from here")
                    return 130
                if finished:
                    return 0
            at.epoch, at.batch, at.shards = at.epoch + 1, 0, []

    def step(self, members: np.ndarray, seconds: float) -> np.ndarray:
        """One optimiser step over a whole batch, of which this process does its rows.

        Returns [loss, count, agreements by self-fed step...] summed over the batch.
        """
        args, team, at = self.args, self.team, self.progress
        gradient, numbers = self.gradient(members)
        shared = [*numbers, seconds if team.rank == 0 else 0.0, float(team.stop)]  # one clock, and one stop for all
        everything = team.total(torch.cat([gradient, torch.tensor(shared)]))
        gradient, numbers = everything[: len(gradient)], everything[len(gradient) : -2]  # numbers[1]: scored positions
        at.seconds, at.stop = float(everything[-2]), bool(everything[-1])
        parts = (gradient / numbers[1].clamp_min(1)).split([weight.numel() for weight in self.weights])
        for weight, part in zip(self.weights, parts):
            weight.grad = part.view_as(weight).to(self.device)
        torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
        rate = args.lr * learning_rate(at.step, at.seconds / (60 * args.minutes), WARM_UP_STEPS)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        keep = min(0.998, at.step / (at.step + 10))  # the average forgets its start
        torch._foreach_lerp_(list(self.average.parameters()), self.weights, 1 - keep)
        at.step += 1
        return numbers.double().numpy()

    def gradient(self, members: np.ndarray) -> tuple[torch.Tensor, list[float]]:
        """This process' part of the summed (not averaged) gradient, flat, on the CPU; and [loss, count, agreements...].

        The noise is drawn for the whole batch, so that it does not depend on who does which rows.
        """
        args, rank, size = self.args, self.team.rank, self.team.size
        length = self.corpus.shards[members[0][0]].rows.shape[1]
        draw = torch.Generator().manual_seed(args.seed * 1_000_003 + self.progress.step)
        noise = (torch.rand(len(members), length, self.embedding.shape[1], generator=draw) - 0.5) * args.noise
        mine, noise = members[rank::size], noise[rank::size].to(self.device)
        if len(mine) == 0:
            return torch.zeros(sum(w.numel() for w in self.weights)), [0.0] * (2 + args.unroll)
        batch = self.corpus.load(mine, self.device)
        loss, count, agreements = head_loss(
            self.head, self.embedding, self.lm_head, batch.tokens, batch.features, batch.scored, steps=args.unroll,
            noise=noise, feature_weight=args.feature_weight, decay=args.decay, dtype=self.dtype)
        gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, self.weights)])
        return gradient.cpu(), [float(loss.detach()), float(count), *agreements.tolist()]

    # -- reports and files --

    def report(self, tally: np.ndarray, batches: int) -> None:
        """Save everything, measure the held-out shard, say how it goes. Only the first process does anything."""
        self.save()
        if self.team.rank:
            return
        args, at = self.args, self.progress
        measured = measure(self.average, self.embedding, self.lm_head, self.ids, Shard.load(self.held_out), self.dtype)
        loss, count, agreements = tally[0], max(tally[1], 1), tally[2:]
        line = {"step": at.step, "minutes": round(at.seconds / 60, 2), "epoch": round(at.epoch + at.batch / batches, 3),
                "text_tokens": self.corpus.tokens, "train_loss": round(loss / count, 4),
                "train_agreement": [round(a / count, 4) for a in agreements], **measured}
        with open(args.out / "log.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        left = max(0.0, 60 * args.minutes - at.seconds)
        self.team.say(f"{clock(at.seconds)} done, {clock(left)} left: " + json.dumps(line))

    def save(self) -> None:
        """The average as a head that the decoder loads, and the state to go on from; each whole or not at all."""
        if self.team.rank:
            return
        head = self.args.out / "head"
        save_head(self.average, head)
        (head / "draft_vocab.json").write_text(json.dumps({"token_ids": self.vocabulary.tolist()}))
        state = {"head": self.head.state_dict(), "average": self.average.state_dict(),
                 "optimizer": self.optimizer.state_dict(), "progress": asdict(self.progress),
                 "vocabulary": self.vocabulary, "init": self.args.init}
        torch.save(state, self.args.out / ".state.pt")
        os.replace(self.args.out / ".state.pt", self.args.out / "state.pt")

    def resume(self) -> None:
        path = self.args.out / "state.pt"
        if not path.exists():
            return
        state = torch.load(path, map_location="cpu", weights_only=True)
        try:
            self.head.load_state_dict(state["head"])
            self.average.load_state_dict(state["average"])
        except RuntimeError:
            raise UserError(f"{path} belongs to a head of another shape; give another --out, or remove it.") from None
        scored, began = len(state["vocabulary"]), state.get("init", self.args.init)
        if scored != min(self.args.vocab, self.rows):
            raise UserError(f"{path} scores {scored} tokens, and --vocab is {self.args.vocab}; give --vocab {scored}, or another "
                            "--out.")
        if began != self.args.init:
            raise UserError(f"{path} began {f'with --init {began}' if began else 'without --init'}, and --init is "
                            f"{self.args.init or 'not given'}; give another --out.")
        self.optimizer.load_state_dict(state["optimizer"])
        self.progress, self.vocabulary = Progress(**state["progress"]), state["vocabulary"]
        self.progress.stop = False
        self.team.say(f"going on from step {self.progress.step}, {clock(self.progress.seconds)} into the training")
