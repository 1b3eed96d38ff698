"""A random Llama of two layers, a head for it, and text, for all tests of training."""


import pytest
import torch
from train_maker import VOCAB
from transformers import LlamaConfig, LlamaForCausalLM

from core.model.target import Target
from core.train.training import fresh_head


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    config = LlamaConfig(hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=6,
                         num_key_value_heads=2, vocab_size=VOCAB, max_position_embeddings=128, initializer_range=0.3,
                         tie_word_embeddings=False)
    return LlamaForCausalLM(config).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def head(model):
    made = fresh_head(Target(model), seed=1)
    with torch.no_grad():
        for weight in made.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(2))
    return made


@pytest.fixture(scope="module")
def text(model):
    ids = torch.randint(0, VOCAB, (3, 20), generator=torch.Generator().manual_seed(3))
    return ids, model.model(ids).last_hidden_state
