"""The target writes the text that its own head is trained on.

Given the chat template's user header, a chat model asks itself a question, then answers it, then asks
the next. A head learns to predict one particular target, so the best text is what that target says, at
the temperatures at which it will be used. Nothing here knows the head, the draft tree or training.

Speed is everything in this file: a batch of rows advances one token at a time through a plain
Llama forward over a static KV cache. No row is ever padded, none ever finishes, so there is no mask.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from ..common.files import reason
from ..errors import UserError
from ..model.rope import placed, without_memory
from .corpus import Shard

ANSWER_TEMPERATURES = (0.0, 0.0, 0.3, 0.7, 1.0)  # row r answers at [r % 5]
QUESTION_TEMPERATURE = 1.0
TOP_K, TOP_MASS = 64, 0.97  # sampled text stays within these; a small model's tail is noise

SEEDED = 0.65  # part of the first questions that begin with an opening; the others begin as the model likes

# Openings spread the text over what people ask of a chat model.
OPENINGS = (
    "Write a Python function that", "Write a function in JavaScript to",
    "Complete the following Python code:\n\n```python\ndef ", "def ", "Fix the bug in this code:\n\n```python\n",
    "Write a SQL query", "Explain what this code does:\n\n", "Implement a class in Python",
    "from typing import List\n\n\ndef ", "Write a short program that", "A train leaves", "If a shop sells", "Tom has",
    "Maria buys", "A farmer has", "How many", "There are 24 students", "A recipe needs", "Calculate",
    "Solve the equation", "What is the sum of", "John works", "Each box contains",
    "Summarize the following article:\n\n", "Summarize this text in one sentence:\n\n",
    "Give the main points of the passage below.\n\n", "Rewrite the following paragraph:\n\n",
    "Here is a news story:\n\n", "Make this email more formal:\n\n", "Correct the grammar of this text:\n\n",
    "What is the capital of", "Who was the first", "Who wrote", "When did", "Where is", "What year", "Which country",
    "Who is", "What is the difference between", "Why do", "Why is", "How does", "How do I", "Explain", "Describe",
    "Define", "What are the benefits of", "Compare", "List five", "List three", "Give me some tips for", "Name the",
    "Give an example of", "What would happen if", "Write a story about", "Write a poem about",
    "Write a short dialogue between", "Write an email to", "Write a blog post about",
    "Write a product description for", "Write a letter", "Compose a", "Create a list of", "Create a recipe", "Plan a",
    "Design a", "Imagine you are", "Pretend to be", "You are a teacher.", "Act as a", "Let's play a game.",
    "Extract the names from the following text:\n\n", "Classify the following sentence", "Identify the",
    "Translate the sentence", "Is it true that", "Should I", "Do you think", "Discuss", "Analyze", "Suggest",
    "Tell me about", "Can you help me", "I want to learn", "Sort the following", "Generate", "Convert", "Find the",
    "Given the following", "What does the word", "In a few sentences,",
)


class ChatMarks:
    """Where a chat template's turns begin: the ids of the user header, and of an answer's header.

    Found by rendering two tiny chats and comparing, so that any template will do. The first `user`
    ids include whatever the template puts before a first question (a system turn).
    """

    def __init__(self, tokenizer):
        if not getattr(tokenizer, "chat_template", None):
            raise UserError("the target has no chat template; give training text with --text instead.")

        def ids(text: str) -> list[int]:
            return tokenizer(text, add_special_tokens=False)["input_ids"]

        def render(turns: list[dict]) -> str:
            return tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)

        ask, say = {"role": "user", "content": "QQQ"}, {"role": "assistant", "content": "AAA"}
        try:
            before, rest = render([ask]).split("QQQ")
            tail = render([ask, say, ask]).split("AAA")[1].split("QQQ")[0]
        except Exception as error:  # a template is a program of somebody else's
            raise UserError(f"the target's chat template does not show its turns one after another ({reason(error)}); give "
                            "text with --text.") from None
        self.user = ids(before)
        self.to_assistant = ids(rest)  # ends the question, opens the answer
        self.to_user = ids(tail)  # ends the answer, opens the next question
        if not self.user or not self.to_assistant or not self.to_user:
            raise UserError("the target's chat template has no headers around turns; give text with --text.")

    @property
    def longest(self) -> int:
        """Tokens of the longer of the two headers that stand between turns."""
        return max(len(self.to_assistant), len(self.to_user))

    def answers(self, rows: np.ndarray) -> np.ndarray:
        """[R, T] token ids -> [R, T] bool: written by the assistant, its closing token included."""
        opens, closes = self._ends(rows, self.to_assistant), self._ends(rows, self.to_user)
        event = opens.astype(np.int8) - closes.astype(np.int8)
        last = np.maximum.accumulate(np.where(event != 0, np.arange(rows.shape[1]), -1), axis=1)
        state = np.where(last >= 0, np.take_along_axis(event, np.maximum(last, 0), 1), 0) > 0
        written = np.zeros_like(state)
        written[:, 1:] = state[:, :-1]  # the header's own last token was not drafted, what follows it is
        return written

    @staticmethod
    def _ends(rows: np.ndarray, pattern: list[int]) -> np.ndarray:
        """[R, T] bool: the pattern's last token stands here, and the tokens before it match the pattern."""
        hit = np.ones(rows.shape, dtype=bool)
        hit[:, : len(pattern) - 1] = False
        for back, token in enumerate(reversed(pattern)):
            hit[:, back:] &= rows[:, : max(0, rows.shape[1] - back)] == token
        return hit


class BatchedLlama:
    """A Llama that advances B rows by one token, over a static KV cache. Weights are shared, not copied.

    dtype bfloat16 is about 2.4 times as fast as float32 on CPUs that multiply it natively; the text it
    writes is as good, and its features differ from the float32 ones by far less than the noise
    that training adds. Raises UserError for a target that is not a plain Llama.
    """

    def __init__(self, model, dtype: torch.dtype, rows: int, length: int):
        config = model.config
        if config.model_type != "llama":
            raise UserError(f"the target is a {config.model_type!r} model; self-written text needs a Llama.")
        device = model.device
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.head_dim = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.eps, self.dtype = config.rms_norm_eps, dtype

        def cast(*linears):  # the weight and bias of one linear layer, or of several as one
            biases = None if linears[0].bias is None else torch.cat([m.bias for m in linears]).detach().to(dtype)
            return torch.cat([m.weight for m in linears]).detach().to(dtype), biases

        self.embedding = model.get_input_embeddings().weight.detach().to(dtype)
        self.lm_head = model.get_output_embeddings().weight.detach().to(dtype)
        self.layers = []
        for block in model.model.layers:
            attention, mlp = block.self_attn, block.mlp
            self.layers.append((
                block.input_layernorm.weight.detach().to(dtype),
                cast(attention.q_proj, attention.k_proj, attention.v_proj), cast(attention.o_proj),
                block.post_attention_layernorm.weight.detach().to(dtype),
                cast(mlp.gate_proj, mlp.up_proj), cast(mlp.down_proj)))
        self.norm = model.model.norm.weight.detach().to(dtype)
        rotary = without_memory(model.model.rotary_emb)
        positions = placed(rotary, torch.arange(length, device=device))
        self.cos, self.sin = (t[0].to(dtype) for t in rotary(self.norm, positions))  # [T, D]
        shape = (len(self.layers), 2, rows, self.kv_heads, length, self.head_dim)
        self.cache = torch.empty(shape, dtype=dtype, device=device)

    def step(self, tokens: torch.Tensor, position: int) -> torch.Tensor:
        """tokens [B] at one position -> features [B, H] after the final norm. B may be below `rows`."""
        count, heads, kv = len(tokens), self.heads, self.kv_heads
        x = self.embedding[tokens]  # [B, H]
        cos, sin = self.cos[position], self.sin[position]
        for (norm1, qkv, out, norm2, gate_up, down), cache in zip(self.layers, self.cache):
            h = F.linear(F.rms_norm(x, norm1.shape, norm1, self.eps), *qkv).view(count, heads + 2 * kv, self.head_dim)
            qk, v = h[:, : heads + kv], h[:, heads + kv :]
            low, high = qk.chunk(2, -1)
            qk = qk * cos + torch.cat([-high, low], -1) * sin
            cache[0, :count, :, position] = qk[:, heads:]
            cache[1, :count, :, position] = v
            keys, values = cache[:, :count, :, : position + 1]  # [B, kv, position + 1, D]
            # the query heads that share a key head stand as its rows: no copy of the cache, and no mask
            attended = F.scaled_dot_product_attention(qk[:, :heads].reshape(count, kv, heads // kv, -1), keys, values)
            x = x + F.linear(attended.reshape(count, -1), *out)
            gate, up = F.linear(F.rms_norm(x, norm2.shape, norm2, self.eps), *gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, *down)
        return F.rms_norm(x, self.norm.shape, self.norm, self.eps)

    def repeat_first_row(self, length: int):
        """Every row's cache becomes a copy of row 0's first `length` positions: the shared header."""
        self.cache[:, :, 1:, :, :length] = self.cache[:, :, :1, :, :length]


def choose(logits: torch.Tensor, temperatures: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """logits [B, V], temperatures [B] -> token ids [B].

    Each row: its TOP_K likeliest tokens, of those the fewest that hold TOP_MASS of the row's probability at
    its temperature (the token that crosses the line stays), then a draw; temperature 0 takes the likeliest.
    """
    values, ids = logits.topk(min(TOP_K, logits.shape[1]), dim=1)  # [B, k], descending
    p = torch.softmax(values.float() / temperatures.clamp_min(1e-4)[:, None], dim=1)
    p = torch.where(p.cumsum(1) - p < TOP_MASS, p, 0.0)
    return ids.gather(1, torch.multinomial(p, 1, generator=generator))[:, 0]


class Author:
    """Writes shards of self-asked, self-answered text with one target."""

    def __init__(self, model, tokenizer, rows=256, length=320, dtype=torch.bfloat16, question_limit=64):
        self.marks, self.device = ChatMarks(tokenizer), model.device
        self.rows, self.length, self.question_limit = rows, length, question_limit
        least = len(self.marks.user) + self.marks.longest + 17
        if length < least:
            raise UserError(f"--length is {length}, and the headers of the target's chat template take {least - 17} tokens of a row; "
                            f"give --length {max(64, least)} or more.")
        self.llama = BatchedLlama(model, dtype, rows, length)
        self.openings = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in OPENINGS]
        # a question that has run on too long is cut after one of these
        ends = [tokenizer(e, add_special_tokens=False)["input_ids"] for e in (".", "?", "!", ":", "\n", ".\n", "\n\n")]
        self.sentence_end = {ids[-1] for ids in ends if ids}

    @torch.inference_mode()
    def write(self, seed: int, stop=lambda: False) -> Shard | None:
        """One shard; None where `stop` said so meanwhile. The same seed on the same machine gives the same text."""
        draw, generator = np.random.default_rng(seed), torch.Generator(self.device).manual_seed(seed)
        header, total = self.marks.user, self.length
        answer_at = np.resize(np.array(ANSWER_TEMPERATURES, np.float32), self.rows)
        temperature = np.full(self.rows, QUESTION_TEMPERATURE, np.float32)
        answering = np.zeros(self.rows, bool)
        asked = np.zeros(self.rows, int)  # tokens of the open question
        forced = [self._opening(draw) for _ in range(self.rows)]  # tokens a row has yet to say, like it or not
        limits = draw.integers(self.question_limit // 2, self.question_limit * 2, self.rows)
        rows = np.zeros((self.rows, total), np.int32)
        features = torch.empty(self.rows, total, self.llama.norm.shape[0], dtype=torch.float16)
        for position in range(total):
            if stop():
                return None
            alone = position < len(header) - 1  # the rows differ only after the header: one row computes it
            if position < len(header):
                rows[:, position] = header[position]
            tokens = torch.from_numpy(rows[: 1 if alone else None, position].astype(np.int64)).to(self.device)
            if position == len(header) - 1:
                self.llama.repeat_first_row(position)
            x = self.llama.step(tokens, position)
            features[:, position] = x.to("cpu", torch.float16)
            if position < len(header) - 1 or position == total - 1:
                continue
            logits = F.linear(x, self.llama.lm_head)
            chosen = choose(logits, torch.from_numpy(temperature).to(self.device), generator).cpu().numpy()
            for r in range(self.rows):
                if forced[r]:
                    chosen[r] = forced[r].pop(0)
                    continue
                mark = self.marks.to_user if answering[r] else self.marks.to_assistant
                if chosen[r] == mark[0]:  # the turn ends: the template goes on, whatever the model would have put
                    forced[r] = list(mark[1:])
            rows[:, position + 1] = chosen
            seen = rows[:, max(0, position + 2 - self.marks.longest) : position + 2]
            opens, closes = (self.marks._ends(seen, m)[:, -1] for m in (self.marks.to_assistant, self.marks.to_user))
            answering = (answering | opens) & ~closes
            asked = np.where(answering | closes, 0, asked + 1)
            temperature = np.where(answering, answer_at, QUESTION_TEMPERATURE).astype(np.float32)
            for r in np.flatnonzero((asked >= limits) & ~answering):
                if not forced[r] and (int(chosen[r]) in self.sentence_end or asked[r] >= limits[r] + 32):
                    forced[r] = list(self.marks.to_assistant)
        return Shard(rows, self.marks.answers(rows), features.numpy())

    def _opening(self, draw: np.random.Generator) -> list[int]:
        return list(self.openings[draw.integers(len(self.openings))]) if draw.random() < SEEDED else []
