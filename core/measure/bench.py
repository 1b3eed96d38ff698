"""Measuring: speed against plain decoding, tau, where a round's time goes, and what recording costs.

Everything is taken in one run on one machine, prompt by prompt in turns, since machines are noisy: read the
ratios. Assertion-free on purpose; what must hold is in the tests.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import torch
from transformers import GenerationConfig

from ..common.records import is_text, records
from ..config import DecodeConfig
from ..errors import DecodeError, UserError
from ..limits import check_input
from ..model.linear import usual_form
from ..model.pair import Pair
from ..model.threads import threads_for, using
from ..pairs.chat import encode
from ..pairs.fetch import Progress, silent
from ..trace.events import CacheCommitted, RunFinished
from ..trace.record import generate, stream
from ..trace.show import counted

KEYS = ("turns", "prompt", "instruction", "question", "text")  # the first that a record has is what its user says
DEFAULT_PROMPTS = (
    "Why is the sky blue?",
    "Write a short story about a lighthouse keeper who finds a letter.",
    "Write a Python function that returns the n-th Fibonacci number.",
    "A shop sells 12 apples for 3 dollars. How much do 20 apples cost? Explain step by step.",
)


def read_prompts(path: str | None) -> list[str]:
    """User messages: of each record of a file the first that it has (`_message`), or a few of our own. Raises UserError."""
    if path is None:
        return list(DEFAULT_PROMPTS)
    prompts = []
    for where, record in records(path, "The file of prompts"):
        message = _message(record)
        if not is_text(message):
            raise UserError(f'{where} is not a prompt; give JSON like {{"prompt": "..."}}, or with {", ".join(KEYS)}.')
        if not message:
            raise UserError(f"{where}: the prompt is empty; leave the line out.")
        prompts.append(message)
    if not prompts:
        raise UserError(f"There are no prompts in {path}; give JSON lines with {', '.join(KEYS)}.")
    return prompts


def _message(record: object) -> object:
    """What the user says first in a record of the common sets of questions."""
    if not isinstance(record, dict):
        return record
    message = next((record[key] for key in KEYS if record.get(key) is not None), None)
    if isinstance(message, list):  # turns
        return message[0] if message else None
    more = record.get("input") if "instruction" in record else None
    return f"{message}\n\n{more}" if is_text(message) and is_text(more) and more else message


def bench(pair: Pair, config: DecodeConfig, prompts: list[str], chat: bool, generate_too: bool,
          progress: Progress = silent) -> Iterator[str]:
    """Lines of a report, the running ones first; `progress` hears what is being measured."""
    chat = chat and bool(getattr(pair.tokenizer, "chat_template", None))
    prompts = [encode(pair, text, chat) for text in prompts]
    for number, ids in enumerate(prompts, start=1):  # before anything slow
        try:
            check_input(pair, ids, config)
        except DecodeError as error:
            raise DecodeError(f"Prompt {number} cannot be decoded: {error}") from None
    ours = config.policy
    ways = {"plain": _plain, ours: _unrecorded, "recorded": _recorded}
    if generate_too and config.greedy:
        ways["generate"] = _transformers
    threads = f"{threads_for(pair.target.model)} threads" if pair.target.device.type == "cpu" else torch.cuda.get_device_name()
    yield (f"{pair.name}, {str(pair.target.dtype).removeprefix('torch.')} on {pair.target.device} ({threads}); "
           f"{config.told()}, temperature {config.temperature:g}, up to {config.max_new_tokens} new tokens, {counted(len(prompts), 'prompt')}")
    short = config.but(max_new_tokens=4)
    for done, (name, way) in enumerate(ways.items()):  # the first call pays for allocations and kernel choices
        progress(f"Warming up: {name}", done / len(ways))
        way(pair, prompts[0], short)
    spent = dict.fromkeys(ways, 0.0)
    count = dict.fromkeys(ways, 0)
    runs, differ = [], 0
    for number, ids in enumerate(prompts, start=1):
        outputs = {}
        for done, (name, way) in enumerate(ways.items()):
            progress(f"Prompt {number} of {len(prompts)}: {name}", done / len(ways))
            _settle(pair)
            start = time.perf_counter()
            outputs[name], summary = way(pair, ids, config)
            _settle(pair)
            spent[name] += time.perf_counter() - start
            count[name] += len(outputs[name])
            if summary:
                runs.append(summary)
        same = outputs[ours] == outputs["plain"][: len(outputs[ours])]
        differ += config.greedy and not same
        tau = f"tau {runs[-1]['tau']:.2f}" if runs[-1]["rounds"] else "no round"
        yield (f"prompt {number}: {len(outputs[ours])} tokens, {tau}, "
               + ("sampled" if not config.greedy else "equal to plain decoding" if same else "DIFFERS from plain"))
    yield from _report(config, spent, count, runs, differ, len(prompts))


def _report(config, spent, count, runs, differ, prompts) -> Iterator[str]:
    speed = {name: count[name] / spent[name] for name in spent}
    rounds = sum(run["rounds"] for run in runs)
    if not rounds:
        yield "Nothing to measure: the target ended every answer with its first token; try other prompts."
        return
    parts = {part: sum(run["seconds"][part] for run in runs) for part in ("draft", "tree", "verify", "accept", "commit")}
    total = sum(parts.values())
    committed = sum(run["tau"] * run["rounds"] for run in runs)
    yield ""
    for name, value in speed.items():
        yield f"{name:>9}: {value:7.2f} tokens/s, {value / speed['plain']:.2f} x plain decoding"
    if "generate" in speed:
        yield f"{config.policy} is {speed[config.policy] / speed['generate']:.2f} x as fast as transformers' generate"
    cost = total / rounds * speed["plain"]  # of a round, in plain steps
    yield (f"A round costs {cost:.2f} plain steps and commits {committed / rounds:.2f} tokens: "
           + ("it wins here." if committed / rounds > cost else "it loses here; a smaller tree, a better head or a device "
              "on which a few rows cost as much as one would turn that."))
    yield f"tau {committed / rounds:.3f}: tokens per round, accepted drafted tokens + 1, over {rounds} rounds"
    depth = [sum(dict(enumerate(run["accepted_by_depth"])).get(d, 0) for run in runs) / rounds for d in range(config.bounds.depth)]
    if depth:
        yield "accepted at least d drafted tokens: " + ", ".join(f"{d}: {share:.0%}" for d, share in enumerate(depth, start=1))
    yield "share of a round's time: " + ", ".join(f"{part} {seconds / total:.2%}" for part, seconds in parts.items())
    yield (f"model forwards {(parts['draft'] + parts['verify']) / total:.2%} of the round; tree building "
           f"{1e3 * parts['tree'] / rounds:.3f} ms a round; one round {1e3 * total / rounds:.1f} ms")
    yield (f"recording costs {sum(run['recording'] for run in runs) / spent['recorded']:.2%} of a run, the listener's own "
           f"time (the two runs differ by {spent['recorded'] / spent[config.policy] - 1:+.1%}, this machine's noise included)")
    if config.greedy:
        yield f"lossless on {prompts - differ} of {prompts} prompts"


def _settle(pair: Pair) -> None:
    if pair.target.device.type == "cuda":
        torch.cuda.synchronize()


def _plain(pair, ids, config):
    return generate(pair, ids, config.plainly()), None


def _unrecorded(pair, ids, config):
    return generate(pair, ids, config), None


def _recorded(pair, ids, config):
    """The whole run with a listener; what it costs is all the time outside the decoder's own stages."""
    emitted, inside, summary, start = [], 0.0, {}, time.perf_counter()
    for event in stream(pair, ids, config):
        if isinstance(event, CacheCommitted):
            inside += sum(event.seconds.values())
        elif isinstance(event, RunFinished):
            emitted, summary = event.output["token_ids"], event.summary
            inside += summary["seconds"]["prefill"]
    return emitted, summary | {"recording": time.perf_counter() - start - inside}


def _transformers(pair, ids, config):
    """transformers' own greedy decoding of the same target, its linear layers as PyTorch does them. The rules of the
    checkpoint's generation config are left out here too."""
    model, prompt = pair.target.model, torch.tensor([ids], device=pair.target.device)
    own, model.generation_config = model.generation_config, GenerationConfig()
    try:
        with torch.inference_mode(), usual_form(model), using(threads_for(model)):
            out = model.generate(
                prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=config.max_new_tokens,
                eos_token_id=[*pair.eos_ids, *config.stop_ids] or None, pad_token_id=0)
    finally:
        model.generation_config = own
    return out[0, len(ids):].tolist(), None
