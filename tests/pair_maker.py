"""Pairs small enough to load in milliseconds: the golden one, and random ones of any shape."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

GOLDEN = Path(__file__).parent / "golden"


def make_target(directory, seed=0, **changes):
    """A freshly built random Llama in `directory`; its weights are large enough that it prefers some tokens."""
    torch.manual_seed(seed)
    config = LlamaConfig(**{"vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
                            "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
                            "bos_token_id": 1, "eos_token_id": None, "tie_word_embeddings": False,
                            "initializer_range": 0.3} | changes)
    model = LlamaForCausalLM(config)
    model.save_pretrained(directory)
    return directory


def make_head(directory, target, seed=1, scale=0.3, bias=False, **changes):
    """A random head in the official layout for the target in `target`."""
    torch.manual_seed(seed)
    shape = json.loads((Path(target) / "config.json").read_text())
    hidden, ffn, heads, kv = (shape[k] for k in ("hidden_size", "intermediate_size", "num_attention_heads",
                                                 "num_key_value_heads"))
    dim = changes.get("head_dim") or hidden // heads
    sizes = {"fc.weight": (hidden, 2 * hidden), "layers.0.post_attention_layernorm.weight": (hidden,)}
    sizes |= {f"layers.0.self_attn.{n}_proj.weight": (rows, hidden)
              for n, rows in (("q", heads * dim), ("k", kv * dim), ("v", kv * dim))}
    sizes |= {"layers.0.self_attn.o_proj.weight": (hidden, heads * dim), "layers.0.mlp.gate_proj.weight": (ffn, hidden),
              "layers.0.mlp.up_proj.weight": (ffn, hidden), "layers.0.mlp.down_proj.weight": (hidden, ffn)}
    if bias:
        sizes["fc.bias"] = (hidden,)
    tensors = {name: torch.randn(size) * scale for name, size in sizes.items()}
    tensors["layers.0.post_attention_layernorm.weight"].fill_(1.0)
    directory.mkdir(parents=True, exist_ok=True)
    save_file(tensors, directory / "model.safetensors")
    config = {k: shape[k] for k in ("hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads",
                                    "vocab_size")} | {"bias": bias} | changes
    (directory / "config.json").write_text(json.dumps(config))
    return directory
