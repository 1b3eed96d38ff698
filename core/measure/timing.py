"""The clock behind a cost curve: passes of a pair's target and head by their rows, in turns.

Machines are noisy: in each turn every number of rows is timed once, so that what disturbs one disturbs all alike, and
the median of the turns counts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import torch
from torch import Tensor

from ..config import DecodeConfig
from ..errors import UserError
from ..model.cache import KVCache
from ..model.head import Drafter
from ..model.pair import Pair
from ..model.steps import stepwise
from ..model.target import pieces
from ..model.threads import threads_for
from ..tree import Candidates, Tree, expand, flatten, rerank, select
from ..verify import accept_greedy
from .cost import Cost, Curve, machine

ROWS = (1, 2, 4, 8, 16, 32, 60, 128)  # of the target's passes
BEAM = (1, 2, 4, 10, 16)              # of the head's
SHARE = 5                             # children of a node in the trees that are timed


def timed(pair: Pair, seconds: float = 20, cache_length: int = 128, rows: tuple[int, ...] = ROWS,
          draft_vocab: int = 0) -> Iterator[tuple[float, Cost | None]]:
    """Measure for so many seconds, two turns at least (the first one warms up and does not count): yields after every
    turn how much of the time is over (0..1), and the cost as it is known by then. Raises UserError."""
    rows = tuple(sorted({1, *rows}))
    room = pair.target.context - max(rows)
    if cache_length < 1 or cache_length > room:
        raise UserError(f"cache_length is {cache_length}; give 1 to {max(room, 1)}: the context of {pair.name} is "
                        f"{pair.target.context} tokens, and up to {max(rows)} rows come behind the cache.")
    if draft_vocab > len(pair.head.frequent):
        raise UserError(f"draft_vocab is {draft_vocab}, the head of {pair.name} ranks {len(pair.head.frequent)} "
                        "tokens; give at most that.")
    spent: dict[tuple[str, int], list[float]] = {}
    start, turn = time.perf_counter(), 0
    config = DecodeConfig(max_new_tokens=max(rows), draft_vocab=draft_vocab)
    for measured in _turns(pair, [0] * cache_length, config, rows):
        for key, value in measured.items():
            spent.setdefault(key, []).append(value)
        past = (time.perf_counter() - start) / seconds
        yield min(past, 1.0), _cost(pair, spent, cache_length, draft_vocab, turn) if turn else None
        if turn and past * (1 + 1 / (turn + 1)) > 1:  # the next would end too late
            return
        turn += 1


def _cost(pair: Pair, spent: dict, cache_length: int, draft_vocab: int, turns: int) -> Cost:
    def curve(part: str) -> Curve:
        rows = sorted(rows for name, rows in spent if name == part)
        columns = [_quartiles(spent[part, n][1:]) for n in rows]
        low, middle, high = (list(column) for column in zip(*columns))
        return Curve(rows=rows, seconds=middle, low=low, high=high)

    device, about = pair.target.device, pair.describe()
    gpu = f", {torch.cuda.get_device_name(device)}" if device.type == "cuda" else ""
    return Cost(created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), pair=pair.name, machine=machine() + gpu,
                device=about["device"], dtype=about["dtype"], threads=threads_for(pair.target.model),
                torch=torch.__version__, cache_length=cache_length, draft_vocab=draft_vocab, turns=turns,
                verify=curve("verify"), head=curve("head"), rest=curve("rest"))


def _quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    return tuple(statistics.quantiles(values, n=4, method="inclusive"))


@stepwise
def _turns(pair: Pair, prompt_ids: list[int], config: DecodeConfig, rows: tuple[int, ...]) -> Iterator[dict]:
    """Turn after turn without end: {(part, rows): seconds}. What is read is random, which no pass minds."""
    target, chance = pair.target, torch.Generator().manual_seed(0)
    capacity = len(prompt_ids) + max(*rows, *BEAM)
    cache = target.new_cache(capacity, pair.head.taps)
    drafter = Drafter(pair.head, target, capacity, config.draft_vocab)
    text = torch.randint(target.vocab_size, (len(prompt_ids),), generator=chance)
    for piece in pieces(text):
        _, features = target.read(piece, cache, len(text))
        drafter.remember(piece, features)
    state = pair.head.enter(features[-1:].to(drafter.device))
    trees = {n: _drafted(text, n, chance) for n in rows}
    while True:
        turn = {}
        for n in rows:
            def verify(tree=trees[n][1]) -> Tensor:
                logits, _ = target.verify(tree, cache)
                return logits.max(dim=-1).indices.cpu()

            turn["verify", n], argmax = _clock(target, verify)
            turn["rest", n], _ = _clock(target, lambda n=n, argmax=argmax: _rest(*trees[n], argmax, cache, len(text)))
        for n in BEAM:
            def probe(n=n) -> Tensor:
                eye = torch.eye(n, dtype=torch.bool, device=drafter.device)
                _, logits = drafter.probe(text[:1].expand(n).to(drafter.device), state.expand(n, -1), eye, 1)
                _, _, score = expand(logits, torch.zeros(n, device=drafter.device), n)
                return select(score.flatten(), n).cpu()

            turn["head", n], _ = _clock(target, probe)
            drafter.cache.release()
        yield turn


def _clock(target, work: Callable) -> tuple[float, object]:
    """Seconds of some work, all of it: what a device has still to do belongs to it."""
    if target.device.type == "cuda":
        torch.cuda.synchronize(target.device)
    start = time.perf_counter()
    result = work()
    if target.device.type == "cuda":
        torch.cuda.synchronize(target.device)
    return time.perf_counter() - start, result


def _drafted(text: Tensor, rows: int, chance: torch.Generator) -> tuple[Candidates, Tree]:
    """Candidates for a tree of so many rows, a family of SHARE for each node in turn, and the tree of all of them."""
    drafted = rows - 1
    parent = torch.arange(drafted) // SHARE
    token = torch.randint(int(text.max()) + 1, (drafted,), generator=chance)
    candidates = Candidates(token, parent, torch.zeros(drafted, dtype=torch.long), -torch.arange(drafted).float())
    return candidates, flatten(int(text[0]), candidates, torch.arange(drafted))


def _rest(candidates: Candidates, tree: Tree, argmax: Tensor, cache: KVCache, committed: int) -> None:
    """What a round does besides its passes: choose and flatten, accept, keep a path in the cache."""
    flatten(0, candidates, rerank(candidates.score, len(candidates.token)))
    accept_greedy(tree, argmax)
    cache.keep(tree.retrieve_indices[-1][tree.retrieve_indices[-1] >= 0].tolist())
    cache.length = committed  # the next pass begins where this one did
