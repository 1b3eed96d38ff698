"""EAGLE-2: a dynamic tree. In each layer the best nodes by score are expanded, then the best of all layers are kept.

Yuhui Li et al., "EAGLE-2", section 4. Which tree it is depends on the context, through the head's own probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import UserError
from .policy import Bounds, Knob, Policy

MOST_CANDIDATES = 250_000  # of a round: some 10 MB of trace
MOST_ROWS = 10_000         # of a tree: its mask is the square


class Eagle2(Policy):
    name = "eagle2"
    exact = True
    knobs = {
        "top_k": Knob(10, least=1, says="children per node and nodes expanded per layer"),
        "depth": Knob(5, says="beam passes after the first: depth + 1 layers"),
        "total_tokens": Knob(59, least=1, says="drafted nodes kept by the re-rank, the root not counted"),
    }

    def fitting(self, given):
        """No more total_tokens than there are candidates, unless somebody says so."""
        shape = {name: given.get(name, knob.default) for name, knob in self.knobs.items()}
        most = max(1, candidate_count(shape["top_k"], shape["depth"]))
        return {"total_tokens": min(shape["total_tokens"], most), **given}

    def check(self, knobs):
        top_k, depth, total = knobs["top_k"], knobs["depth"], knobs["total_tokens"]
        count = candidate_count(top_k, depth)
        if count > MOST_CANDIDATES:
            raise UserError(f"top_k is {top_k} and depth is {depth}: a round would score {round_cost(count)}; "
                            f"{MOST_CANDIDATES:,} candidates are the most, so lower top_k or depth.")
        if total > count:
            raise UserError(
                f"total_tokens is {total}, but top_k {top_k} and depth {depth} give only {count} candidates (top_k + depth * "
                f"top_k^2); lower total_tokens to {count} or raise top_k or depth.")
        if total > MOST_ROWS:
            raise UserError(f"total_tokens is {total}; the target reads a tree in one pass, {MOST_ROWS:,} are the most.")

    def bounds(self, knobs):
        """The head reads top_k beam nodes in each of depth passes; the last layer's children are scored, never read."""
        top_k, depth = knobs["top_k"], knobs["depth"]
        return Bounds(passes=depth + 1, candidates=candidate_count(top_k, depth), rows=knobs["total_tokens"] + 1,
                      depth=depth + 1, head_rows=depth * top_k, children=top_k)

    def grow(self, drafter, token_ids, features, config) -> Iterator:
        """depth + 1 layers: top_k candidates, then top_k^2 in each. In each layer the top_k nodes by cumulative score are
        expanded (section 4.1). Nothing here waits for the device."""
        import torch

        from ..tree import Layer, select

        k, device = config.top_k, drafter.device
        feature, logits = drafter.observe(token_ids, features)                     # [1, hidden], [1, vocab]
        token, log_prob, score = _children(drafter, logits, torch.zeros(1, device=device), k)  # [k] each
        ids = torch.arange(1, k + 1, device=device)                                # creation order; 0 is the root
        root = torch.zeros(k, dtype=torch.long, device=device)
        yield Layer(root[:1], token, root, log_prob, score, ids if config.depth else ids[:0])

        # The beam: the k nodes that are fed to the head next. The first time, all children of the root.
        beam_ids, beam_token, beam_score = ids, token, score
        beam_feature = feature.expand(k, -1)  # what the head reads beside a token is the feature predicted for its parent
        itself = torch.eye(k, dtype=torch.bool, device=device)
        mask = itself                                                              # [k, drafted rows so far]
        for step in range(config.depth):
            out, logits = drafter.probe(beam_token, beam_feature, mask, step + 1)  # [k, hidden], [k, vocab]
            token, log_prob, score = _children(drafter, logits, beam_score, k)     # [k * k] each
            ids = torch.arange(k * k, device=device) + (1 + k + step * k * k)
            parent = beam_ids.repeat_interleave(k)
            if step + 1 == config.depth:
                yield Layer(beam_ids, token, parent, log_prob, score, ids[:0])     # the last layer is not expanded
                return
            best = select(score, k)                                                # [k] places among k * k
            # Not a mask over the k * k: ids[best] lists the next beam itself, best score first, which is its order as rows
            yield Layer(beam_ids, token, parent, log_prob, score, ids[best])
            row = best // k                                                        # the beam row each hangs off
            beam_ids, beam_token, beam_score, beam_feature = ids[best], token[best], score[best], out[row]
            mask = torch.cat([mask[row], itself], dim=1)                           # sees what its parent saw, and itself

    def keep(self, candidates, config):
        """The total_tokens best by score of all layers (section 4.2)."""
        from ..tree import rerank
        return rerank(candidates.score, config.total_tokens)


def _children(drafter, logits, parent_score, k: int):
    """The k likeliest children of every row in creation order: token, log_prob, score, each [rows * k]."""
    from ..tree import expand
    place, log_prob, score = expand(logits, parent_score, k)
    return drafter.token_ids(place).flatten(), log_prob.flatten(), score.flatten()  # a draft vocabulary has its own places


def candidate_count(top_k: int, depth: int) -> int:
    """top_k + depth * top_k^2 (EAGLE-2, section 4.1): the most nodes a re-rank can keep."""
    return top_k + depth * top_k**2


def round_cost(candidates: int) -> str:
    """What a round of so many candidates takes, roughly, where it is recorded."""
    return f"{candidates:,} candidates, some {candidates * 4e-5:,.1f} MB of trace and {candidates * 2e-4:,.0f} MB of memory"


POLICY = Eagle2()
