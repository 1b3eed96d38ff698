"""Train the storybook target: a tokenizer of its own, then a small Llama on stories that are never told twice.

    python -m core.storybook.train --out DIR --minutes 40

DIR then holds the target as a checkpoint (target/), state.pt to go on from, and log.jsonl. Stopping is safe at any
moment; the same command goes on. The data needs no file: row n of the training is made from its own seed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

from .lean import hidden_states
from .tell import story

END = "<|end|>"  # the only special token: a story is over
FIRST_TRAINING_SEED = 1_000_000  # stories with smaller seeds are held out
VOCABULARY = 2048
SHORT = 0.35  # this part of the time, rows are cut into pieces of 128: where little is to be seen, copying from it is found soon
SHAPE = {"hidden_size": 192, "num_hidden_layers": 5, "intermediate_size": 512, "num_attention_heads": 6, "num_key_value_heads": 3,
         "max_position_embeddings": 1024}


def train_tokenizer(stories: int = 12_000) -> Tokenizer:
    """A byte-level BPE: it can spell anything, and knows the stories' words whole."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        (story(FIRST_TRAINING_SEED + n) for n in range(stories)),
        trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=[END], show_progress=False,
                            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def rows_of(tokenizer: Tokenizer, first_row: int, count: int, length: int) -> torch.Tensor:
    """`count` rows of `length` token ids: stories one after another, END between them; a row begins with a story."""
    rows = []
    for row in range(first_row, first_row + count):
        ids: list[int] = []
        seed = FIRST_TRAINING_SEED + row * 8  # eight stories fill any row
        while len(ids) < length:
            ids += [*tokenizer.encode(story(seed)).ids, 0]
            seed += 1
        rows.append(ids[:length])
    return torch.tensor(rows)


def story_loss(model, tokens: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Mean cross-entropy per token, in nats; tokens [B, T]."""
    hidden = hidden_states(model, tokens, dtype)[:, :-1].flatten(0, 1)
    logits = F.linear(hidden, model.lm_head.weight.to(dtype)).float()
    return F.cross_entropy(logits, tokens[:, 1:].flatten())


def rate(step: int, done: float) -> float:
    """A factor of the peak: 40 steps of warm-up, level for 0.3 of the time, then straight down to zero."""
    return min(1.0, (step + 1) / 40, max(0.0, (1 - done) / 0.7))


@torch.no_grad()
def prepare(model) -> None:
    """Initial weights with which a name that was told is soon told again.

    With the usual small embeddings the layers' outputs (thirty times as large after a hundred steps) drown what tells one name
    from another, and no name was ever repeated in a story. So embeddings start as large as the layers' outputs, and
    the final norm's weight keeps the first logits small. What layers add starts at nothing, but for two heads each of
    the middle ones: they add a projection of what they attend to, so that attending to a word makes the word likelier.
    """
    config = model.config
    size = config.hidden_size // config.num_attention_heads
    model.model.embed_tokens.weight.normal_(std=1.0)
    model.model.norm.weight.fill_(0.05)
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
    for layer in model.model.layers[1:-1]:
        basis = torch.linalg.qr(torch.randn(config.hidden_size, size))[0]  # [H, D], columns of length 1
        layer.self_attn.v_proj.weight[-size:] = basis.T
        for head in (1, 2):
            layer.self_attn.o_proj.weight[:, config.hidden_size - head * size :][:, :size] = basis / 2


class Trainer:
    """Model, optimisers and clock; everything needed to go on is in state.pt."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        args.out.mkdir(parents=True, exist_ok=True)
        path = args.out / "target" / "tokenizer.json"
        if not path.exists():
            save_tokenizer(train_tokenizer(), path.parent)
        self.tokenizer = Tokenizer.from_file(str(path))
        torch.manual_seed(args.seed)
        self.model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, tie_word_embeddings=True, bos_token_id=None, eos_token_id=0,
                                                  initializer_range=0.03, **SHAPE))
        prepare(self.model)
        matrices = [p for name, p in self.model.named_parameters() if p.dim() == 2 and "embed" not in name]
        norms = [p for p in self.model.parameters() if p.dim() == 1]
        # Muon learns the matrices in about half the steps that AdamW takes
        self.optimizers = [torch.optim.Muon(matrices, lr=args.lr, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
                           torch.optim.AdamW([{"params": norms, "lr": args.lr / 2}, {"params": [self.model.model.embed_tokens.weight], "lr": 3 * args.lr}],
                                              betas=(0.9, 0.98), weight_decay=0.0, fused=True)]
        self.peaks = [[group["lr"] for group in optimizer.param_groups] for optimizer in self.optimizers]
        self.step, self.row, self.seconds, self.tokens = 0, 0, 0.0, 0
        self.state = args.out / "state.pt"
        if self.state.exists():
            saved = torch.load(self.state, weights_only=True)
            self.model.load_state_dict(saved["model"])
            for optimizer, state in zip(self.optimizers, saved["optimizers"]):
                optimizer.load_state_dict(state)
            self.step, self.row, self.seconds, self.tokens = saved["progress"]
        self.held_out = rows_of(self.tokenizer, -1000, 8, 512)  # negative rows: seeds below the first one of training

    def run(self) -> None:
        budget, since, losses = 60 * self.args.minutes, time.monotonic(), []
        print(f"{sum(p.numel() for p in self.model.parameters()) / 1e6:.2f} M parameters; step {self.step}, {self.seconds:.0f} s done", flush=True)
        while self.seconds < budget:
            done = self.seconds / budget
            length, count = (512, self.args.rows) if done < 0.9 else (1024, max(1, self.args.rows // 2))
            tokens = rows_of(self.tokenizer, self.row, count, length)
            if done < SHORT:
                tokens = tokens.view(-1, 128)
            for optimizer, peaks in zip(self.optimizers, self.peaks):
                for group, peak in zip(optimizer.param_groups, peaks):
                    group["lr"] = peak * rate(self.step, done)
            loss = story_loss(self.model, tokens, self.args.dtype)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            for optimizer in self.optimizers:
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
            self.step, self.row, self.tokens = self.step + 1, self.row + count, self.tokens + tokens.numel()
            now = time.monotonic()
            self.seconds, since = self.seconds + now - since, now
            if self.step % 100 == 0 or self.seconds >= budget:
                self.report(losses, budget)
                losses = []

    def report(self, losses: list[float], budget: float) -> None:
        """Save, measure the held-out stories, say how it goes."""
        self.save()
        with torch.no_grad():
            held_out = story_loss(self.model, self.held_out, torch.float32).item()
        line = {"step": self.step, "minutes": round(self.seconds / 60, 1), "left": round(max(0.0, budget - self.seconds) / 60, 1),
                "tokens": self.tokens, "tokens_per_second": round(self.tokens / self.seconds),
                "loss": round(sum(losses) / len(losses), 4), "held_out_loss": round(held_out, 4), "perplexity": round(math.exp(held_out), 3)}
        with open(self.args.out / "log.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)

    def save(self) -> None:
        """The target as a checkpoint and the state to go on from; each file whole or not at all."""
        folder, weights = self.args.out / "target", self.model.state_dict()
        save_file({name: t.to(torch.float16).contiguous() for name, t in weights.items() if name != "lm_head.weight"},
                  folder / ".part", metadata={"format": "pt"})
        os.replace(folder / ".part", folder / "model.safetensors")
        config = self.model.config.to_diff_dict() | {"architectures": ["LlamaForCausalLM"], "dtype": "float16"}
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        torch.save({"model": weights, "optimizers": [o.state_dict() for o in self.optimizers],
                    "progress": [self.step, self.row, self.seconds, self.tokens]}, self.state.with_suffix(".part"))
        os.replace(self.state.with_suffix(".part"), self.state)


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "clean_up_tokenization_spaces": False,
         "model_max_length": SHAPE["max_position_embeddings"]}, indent=1) + "\n", encoding="utf-8")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 0}) + "\n", encoding="utf-8")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m core.storybook.train", description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="directory for the checkpoint, the state and the log")
    parser.add_argument("--minutes", type=float, default=40, help="training time, earlier runs in DIR included (40)")
    parser.add_argument("--rows", type=int, default=6, help="rows of 512 tokens in a step (6)")
    parser.add_argument("--lr", type=float, default=3e-3, help="peak learning rate of the matrices (0.003)")
    parser.add_argument("--dtype", type=lambda name: getattr(torch, name), default=torch.bfloat16, help="of matrix products; weights stay float32")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    if not hasattr(torch.optim, "Muon"):
        parser.error(f"PyTorch {torch.__version__} has no Muon; install PyTorch 2.9 or newer.")
    Trainer(args).run()


if __name__ == "__main__":
    main()
