"""Plain decoding as a policy: nothing is drafted, the target reads one row a pass. What every other policy is held against."""

from __future__ import annotations

from .policy import Bounds, Policy


class Plain(Policy):
    name = "plain"
    exact = True

    def bounds(self, knobs):
        return Bounds(passes=0, candidates=0, rows=1, depth=0, head_rows=0, children=0)

    def grow(self, drafter, token_ids, features, config):
        return iter(())


POLICY = Plain()
