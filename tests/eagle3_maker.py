"""Random EAGLE-3 heads of any shape, and the head's arithmetic once more: a path at a time, no cache, no mask of a
tree."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from core.pairs.eagle3_heads import IDS

GOLDEN3 = Path(__file__).parent / "golden3"
WEIGHTS = GOLDEN3 / "weights"


def make_head3(directory, target, seed=1, scale=0.3, words=40, hidden=None, features=3, **keys):
    """A random head in the official layout for the target in `target`; words of its vocabulary are drawn at random."""
    draw = torch.Generator().manual_seed(seed)
    shape = json.loads((Path(target) / "config.json").read_text())
    theirs, ffn, heads, kv = (shape[k] for k in ("hidden_size", "intermediate_size", "num_attention_heads",
                                                 "num_key_value_heads"))
    hidden = hidden or theirs
    vocab, dim = shape["vocab_size"], keys.get("head_dim") or hidden // heads
    sizes = {"fc.weight": (hidden, features * theirs), "lm_head.weight": (words, hidden), "norm.weight": (hidden,)}
    sizes |= {f"midlayer.self_attn.{n}_proj.weight": (rows * dim, 2 * hidden)
              for n, rows in (("q", heads), ("k", kv), ("v", kv))}
    sizes |= {f"midlayer.{n}.weight": (hidden,) for n in ("input_layernorm", "hidden_norm", "post_attention_layernorm")}
    sizes |= {"midlayer.self_attn.o_proj.weight": (hidden, heads * dim), "midlayer.mlp.gate_proj.weight": (ffn, hidden),
              "midlayer.mlp.up_proj.weight": (ffn, hidden), "midlayer.mlp.down_proj.weight": (hidden, ffn)}
    if keys.get("norm_before_fc"):
        sizes["input_norm.weight"] = (features * theirs,)
    if keys.get("fc_norm"):
        sizes |= {f"fc_norm.{i}.weight": (theirs,) for i in range(features)}
    tensors = {name: torch.randn(size, generator=draw) * scale + (len(size) == 1) for name, size in sizes.items()}
    if words < vocab:
        ids = torch.randperm(vocab, generator=draw)[:words].sort().values
        tensors["d2t"] = ids - torch.arange(words)
        tensors["t2d"] = torch.zeros(vocab, dtype=torch.bool).index_fill(0, ids, True)
    if hidden != theirs:
        tensors["embed_tokens.weight"] = torch.randn(vocab, hidden, generator=draw)
    directory.mkdir(parents=True, exist_ok=True)
    save_file(tensors, directory / "model.safetensors")
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": hidden,
              "intermediate_size": ffn, "num_attention_heads": heads, "num_key_value_heads": kv, "vocab_size": vocab,
              "draft_vocab_size": words, "rms_norm_eps": 1e-5} | keys
    (directory / "config.json").write_text(json.dumps(config))
    return directory


class Naive:
    """What a head in the official layout computes, written down from its definition: a text, and one path of drafts."""

    def __init__(self, directory, embedding, **variant):
        self.w, self.variant, self.embedding = load_file(directory / "model.safetensors"), variant, embedding
        self.config = json.loads((directory / "config.json").read_text())
        self.dim = len(self.w["midlayer.self_attn.q_proj.weight"]) // self.config["num_attention_heads"]

    def norm(self, x, name):
        return x * (x.pow(2).mean(-1, keepdim=True) + self.config["rms_norm_eps"]).rsqrt() * self.w[f"{name}.weight"]

    def turned(self, x):
        """Rope for rows at positions 0, 1, ...: x [rows, heads, dim]."""
        rates = self.config.get("rope_theta", 10000.0) ** (-torch.arange(0, self.dim, 2) / self.dim)
        angle = torch.arange(len(x))[:, None, None] * rates
        a, b = x.chunk(2, -1)
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)

    def entered(self, features):
        if self.variant.get("norm_before_fc"):
            features = self.norm(features, "input_norm")
        if self.variant.get("fc_norm"):
            count = sum(name.startswith("fc_norm.") for name in self.w)
            parts = enumerate(features.chunk(count, -1))
            features = torch.cat([self.norm(part, f"fc_norm.{i}") for i, part in parts], -1)
        return features @ self.w["fc.weight"].T

    def layer(self, tokens, states):
        """All rows, each seeing those before it -> what is fed back [rows, hidden], and the logits [rows, words]."""
        w, rows = self.w, len(tokens)
        normed = self.norm(states, "midlayer.hidden_norm")
        x = torch.cat([self.norm(self.embedding[tokens], "midlayer.input_layernorm"), normed], -1)
        q, k, v = ((x @ w[f"midlayer.self_attn.{n}_proj.weight"].T).view(rows, -1, self.dim) for n in "qkv")
        q, k = self.turned(q), self.turned(k)
        k, v = (t.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for t in (k, v))
        scores = torch.einsum("qhd,khd->hqk", q, k) / self.dim**0.5
        share = scores.masked_fill(~torch.ones(rows, rows).tril().bool(), float("-inf")).softmax(-1)
        mixed = torch.einsum("hqk,khd->qhd", share, v).reshape(rows, -1)
        h = normed if self.variant.get("norm_before_residual") else states
        h = h + mixed @ w["midlayer.self_attn.o_proj.weight"].T
        y = self.norm(h, "midlayer.post_attention_layernorm")
        gate = torch.nn.functional.silu(y @ w["midlayer.mlp.gate_proj.weight"].T)
        out = h + (gate * (y @ w["midlayer.mlp.up_proj.weight"].T)) @ w["midlayer.mlp.down_proj.weight"].T
        normed = self.norm(out, "norm")
        return normed if self.variant.get("norm_output") else out, normed @ w["lm_head.weight"].T

    def path(self, tokens, features, drafted):
        """log-probabilities [words] after the text, and after each drafted token of a path; tokens follow their
        features."""
        states, rows = self.entered(features), list(tokens)
        said = []
        for token in [*drafted, None]:
            out, logits = self.layer(torch.tensor(rows), states)
            said.append(logits[-1].log_softmax(-1))
            rows, states = [*rows, token], torch.cat([states, out[-1:]])
        return said

    @property
    def ids(self):
        """The token id of every place in the logits."""
        return torch.arange(len(self.w["lm_head.weight"])) + self.w.get("d2t", 0)


__all__ = ["GOLDEN3", "IDS", "WEIGHTS", "Naive", "make_head3"]
