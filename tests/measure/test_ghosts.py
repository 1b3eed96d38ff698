"""What-if where children are not known: whatever they are, within their bounds, the truth lies between."""

import math
import random
from types import SimpleNamespace

import pytest

from core.measure.whatif import _Columns
from core.policies.eagle2 import candidate_count

WIDTH, DEPTH = 5, 5  # as recorded


def grown(family, top_k):
    """Everything that a beam of top_k scores, path -> score, in creation order; and what it feeds, layer by layer."""
    everything, fed, beam = {}, [], [()]
    for _ in range(DEPTH + 1):
        fed.append(beam)
        fresh = [(*path, i) for path in beam for i in range(top_k)]
        everything |= {path: everything.get(path[:-1], 0.0) + family(path[:-1])[path[-1]] for path in fresh}
        beam = sorted(fresh, key=lambda path: -everything[path])[:top_k]
    return everything, fed


def round_of(everything, fed):
    """As it would stand in a trace; a token is the place among its siblings."""
    place = {(): 0} | {path: i for i, path in enumerate(everything, start=1)}
    parents, tokens = [place[path[:-1]] for path in everything], [path[-1] for path in everything]
    candidates = SimpleNamespace(parent=parents, token=tokens, layer=[len(path) - 1 for path in everything],
                                 score=list(everything.values()))
    layers = [SimpleNamespace(expanded=[place[path] for path in paths]) for paths in fed]
    return SimpleNamespace(candidates=candidates, layers=layers)


def families(rng):
    """Of every path the log-probabilities of its children: flat ones, and some that know."""
    made = {}

    def family(path):
        if path not in made:
            sure = rng.choice((0.0, 0.1, 0.4, 1.5))
            weights = [math.exp(-sure * i - 0.01 * rng.random()) for i in range(WIDTH)]
            rest = rng.choice((0.05, 1.0, 4.0))  # of the mass, for all other tokens
            made[path] = sorted((math.log(w / (sum(weights) + rest)) for w in weights), reverse=True)
        return made[path]

    return family


def with_unknown(family, known, rng):
    """The same families where they were recorded; elsewhere any that the bounds allow, the extreme ones often."""
    made = {}

    def anything(path):
        if path in known:
            return family(path)
        if path not in made:
            many = rng.randint(0, WIDTH)  # so many as likely as can be, the others hardly
            made[path] = [-math.log(i + 1) - 1e-9 if i < many else -9.0 - i for i in range(WIDTH)]
        return made[path]

    return anything


@pytest.mark.parametrize("top_k", [1, 3, 4])
def test_whatever_ghosts_are_the_truth_lies_between(top_k):
    uncertain, exact, missed = 0, 0, 0
    for seed in range(150):
        rng = random.Random(seed)
        family = families(rng)
        everything, fed = grown(family, WIDTH)
        columns, known = _Columns(round_of(everything, fed), [0]), {path for paths in fed for path in paths}
        outlook, names = columns.outlook(top_k, DEPTH), list(everything)
        for _ in range(6):
            truth, beam = grown(with_unknown(family, known, rng), top_k)
            fed_now = {path for paths in beam for path in paths}
            assert (fed_now & set(everything)) - known <= {names[i - 1] for i in outlook.ghosts}
            for total in (3, 9, 20, candidate_count(top_k, DEPTH)):
                kept = set(sorted(truth, key=lambda path: -truth[path])[:total])
                sure, maybe = ({names[i - 1] for i in ids} for ids in outlook.kept(total))
                assert sure <= kept and kept & set(everything) <= sure | maybe, (seed, total)
                uncertain, exact, missed = uncertain + bool(maybe), exact + (not maybe), missed + len(maybe - kept)
    assert uncertain > 50 and exact > 50 and (missed or top_k == 1), "both kinds; and some of what may be kept is not"
