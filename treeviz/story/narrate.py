"""One plain sentence per frame, with this round's own numbers, in any language.

A sentence is a list of parts: plain strings, and `(text, node)` for a quoted token, so that whoever shows it may
link the token to its node. `plain` joins them for a terminal or a test. Where a policy has a sentence of its own, it is
"what@policy"; else "what" is said (`language.py`).
"""

from __future__ import annotations

import math
from collections import Counter

from .frames import Frame, born_in
from .labels import MINUS, number, show
from .language import ENGLISH, pieces, section, template

Part = str | tuple[str, int]


def narrate(trace, r, frame: Frame, language: str = ENGLISH) -> list[Part]:
    """The sentence of a frame of round `r`. `trace` needs `token(id)` and `config`; a whole `Trace` has both."""
    say = _Teller(trace, r, language)
    tell = getattr(say, frame.kind, None)
    return tell(frame) if tell else say.usual(frame)


def round_gain(r, language: str = ENGLISH) -> str:
    """What a round brought, in words: for the line under the token stream."""
    n = r.accept.length
    name = "gain.bare" if len(r.tree.parent) == 1 else "gain" if n else "gain.none"
    return plain(_fill(template("story", name, language, n), round=r.index + 1, n=n, total=n + 1))


def undrafted(trace, language: str = ENGLISH) -> str:
    """What there is to say of a run without rounds."""
    ids = trace.output.token_ids
    if not ids:
        return template("story", "ended.early", language)
    return plain(_fill(template("story", "ended", language), token=(show(trace.token(ids[0])), 0)))


def plain(sentence: list[Part], quotes: str = "“”") -> str:
    return "".join(part if isinstance(part, str) else quotes[0] + part[0] + quotes[1] for part in sentence)


def _fill(text: str, **values) -> list[Part]:
    """`text` with its {names} replaced; a value is a number, a string, a token part or a list of parts."""
    parts: list[Part] = []
    for place, piece in enumerate(pieces(text)):
        value = values[piece] if place % 2 else piece
        for part in value if isinstance(value, list) else [value]:
            part = part if isinstance(part, tuple) else str(part)
            if parts and isinstance(part, str) and isinstance(parts[-1], str):
                parts[-1] += part
            elif part != "":
                parts.append(part)
    return parts


class _Teller:
    def __init__(self, trace, r, language: str):
        self.trace, self.r, self.language = trace, r, language
        self.bonus = len(r.candidates.token) + 1
        self.policy = trace.config["policy"]

    def text(self, name: str, **values) -> list[Part]:
        return _fill(template("story", name, self.language, values.get("n"), self.policy), **values)

    def usual(self, frame: Frame) -> list[Part]:
        """Of a frame that needs nothing but what every round has and what it counts itself: the text of its kind."""
        r, focus = self.r, [self.token(node) for node in frame.focus]
        has = dict(round=r.index + 1, root=self.token(0), bonus=self.token(self.bonus), rows=len(r.tree.parent),
                   candidates=len(r.candidates.token), accepted=r.accept.length, n=len(focus), focus=self.list(focus))
        return self.text(frame.kind, **has | frame.counts)

    def token(self, node: int) -> tuple[str, int]:
        r = self.r
        token = r.root if not node else r.accept.bonus if node == self.bonus else r.candidates.token[node - 1]
        return self.word(token, node)

    def word(self, token: int, node: int) -> tuple[str, int]:
        """A token that is no node of its own; hovering it lights `node`."""
        return show(self.trace.token(token)), node

    def row(self, row: int) -> tuple[str, int]:
        return self.token(self.r.tree.candidate[row])

    def list(self, items: list) -> list[Part]:
        """Items in words: a, b and c."""
        comma, last = section("story", self.language)["list"]
        parts: list[Part] = []
        for i, item in enumerate(items):
            if i:
                parts.append(last if i == len(items) - 1 else comma)
            parts += item if isinstance(item, list) else [item]
        return parts

    # -- the frames ------------------------------------------------------------------------------------------------

    def root(self, frame: Frame) -> list[Part]:
        r = self.r
        if r.index == 0:
            return self.text("root.first", n=r.prefix_length, root=self.token(0))
        return self.text("root", root=self.token(0), round=r.index)

    def expand(self, frame: Frame) -> list[Part]:
        c = self.r.candidates
        born = born_in(self.r, frame.layer)
        best = max(born, key=c.log_prob.__getitem__)  # of equals the first
        fed, children = len(frame.focus), Counter(c.parent[i] for i in born)
        values = dict(new=len(born), best=self.token(best + 1), p=number(math.exp(c.log_prob[best])),
                      parent=self.token(c.parent[best]), fed=fed, each=len(born) // max(fed, 1),
                      whole=number(math.exp(c.score[best])))
        if len(born) == 1:
            return self.text("expand.one", **values)
        if len(children) == 1:
            return self.text("expand.first" if frame.layer == 0 else "expand.single", **values)
        even = len(children) == fed and len(set(children.values())) == 1
        return self.text("expand" if even else "expand.uneven", **values)

    def select(self, frame: Frame) -> list[Part]:
        c = self.r.candidates
        new, chosen = len(born_in(self.r, frame.layer)), frame.focus
        best, last = chosen[0], chosen[-1]
        values = dict(n=len(chosen), new=new, layer=frame.layer, next=frame.layer + 1, best=self.token(best),
                      last=self.token(last), sum=self._sum(best), score=number(c.score[best - 1]),
                      worst=number(c.score[last - 1]))
        return self.text("select.all" if len(chosen) == new else "select", **values)

    def _sum(self, node: int) -> str:
        """The score of a candidate as the written-out sum of the log-probabilities along its path."""
        c, terms, candidate = self.r.candidates, [], node
        while candidate:
            terms.append(c.log_prob[candidate - 1])
            candidate = c.parent[candidate - 1]
        first, *rest = reversed(terms)
        exact = round(sum(round(x, 2) for x in terms), 2) == round(c.score[node - 1], 2)
        written = number(first) + "".join(f" {MINUS} {number(-x)}" for x in rest)
        return f"{written} {'=' if exact else '≈'} {number(c.score[node - 1])}"  # two digits do not always add up

    def rerank(self, frame: Frame) -> list[Part]:
        c, kept = self.r.candidates, set(frame.focus)
        last = max(kept, key=lambda i: (-c.score[i - 1], i))
        others = [-math.inf if i in kept else score for i, score in enumerate(c.score, start=1)]
        out = others.index(max(others)) + 1
        values = dict(n=len(c.token), kept=len(kept), cutoff=number(self.r.tree.cutoff), last=self.token(last))
        return self.text("rerank", out=self.token(out), score=number(c.score[out - 1]), **values)

    def flatten(self, frame: Frame) -> list[Part]:
        t = self.r.tree
        row = max(range(len(t.depth)), key=lambda i: (t.depth[i], -i))
        ancestors = [i for i, on in enumerate(self.r.mask_row(row)) if on and i != row]
        return self.text("flatten", n=len(t.candidate) - 1,
                         leaves=len(t.retrieve_indices), row=row, token=self.row(row), ancestors=self.list([self.row(i) for i in ancestors]),
                         candidate=t.candidate[row])

    def verify(self, frame: Frame) -> list[Part]:
        t, v, tokens = self.r.tree, self.r.target, self.r.tokens
        children: dict[int, list[int]] = {}
        for row, parent in enumerate(t.parent):
            children.setdefault(parent, []).append(row)
        inner = [row for row in range(len(tokens)) if row in children]
        hits = sum(any(tokens[child] == v.argmax[row] for child in children[row]) for row in inner)
        found = any(tokens[child] == v.argmax[0] for child in children.get(0, []))
        many = "none" if not hits else "some" if hits < len(inner) else "one" if hits == 1 else "all"
        name = "verify.hit" if found else "verify.miss" if inner else "verify.bare"
        return self.text(name, rows=len(tokens), inner=len(inner), hits=hits,
                         where=self.text(f"where.{many}", inner=len(inner), hits=hits), root=self.token(0),
                         choice=self.word(v.argmax[0], 0), p=number(v.top[0][0][1]), first=t.position_ids[0],
                         last=max(t.position_ids))

    def accept(self, frame: Frame) -> list[Part]:
        greedy = self.r.accept.rule == "greedy"
        if len(self.r.tree.parent) == 1:
            return self.text("accept.bare" if greedy else "sample.bare", bonus=self.token(self.bonus))
        return self._accept_greedy() if greedy else self._accept_sampling()

    def _accept_greedy(self) -> list[Part]:
        path = self.r.accept.path
        values = dict(root=self.token(0), last=self.row(path[-1]), bonus=self.token(self.bonus), n=len(path) - 1,
                      path=self.list([self.row(i) for i in path[1:]]))
        values["ending"] = self._ending(values)
        return self.text("accept.none" if len(path) == 1 else "accept", **values)

    def _ending(self, values: dict) -> list[Part]:
        """Why the path went no further: nothing drafted there, drafted but cut, or other tokens drafted."""
        r, last = self.r, self.r.accept.path[-1]
        offered = [row for row, parent in enumerate(r.tree.parent) if parent == last]
        here = r.tree.candidate[last]
        scored = [i for i, parent in enumerate(r.candidates.parent) if parent == here]
        cut = next((i for i in scored if r.candidates.token[i] == r.accept.bonus), None)
        if cut is not None:
            score, cutoff = number(r.candidates.score[cut]), number(r.tree.cutoff)
            return self.text("ending.cut", score=score, cutoff=cutoff, **values)
        if not offered:
            return self.text("ending.leaf", **values)
        return self.text("ending.one" if len(offered) == 1 else "ending.some", offered=self.list(
            [self.row(i) for i in offered[:3]]), count=len(offered), **values)

    def _accept_sampling(self) -> list[Part]:
        r, drawn = self.r, self.r.accept.draws
        shown = drawn if len(drawn) <= 4 else drawn[:3]
        draws = [self.text("draw.in" if draw.accepted else "draw.out", token=self.row(draw.node), p=number(draw.p),
                           r=number(draw.r)) for draw in shown]
        more = self.text("draw.more", n=len(drawn) - len(shown)) if len(shown) < len(drawn) else ""
        return self.text("sample.none" if r.accept.length == 0 else "sample", draws=self.list(draws), more=more,
                         n=r.accept.length, bonus=self.token(self.bonus))

    def commit(self, frame: Frame) -> list[Part]:
        cache, rows = self.r.cache, len(self.r.tree.candidate)
        name = "commit.bare" if rows == 1 else "commit.all" if rows == len(cache.kept) else "commit"
        return self.text(name, kept=len(cache.kept), rows=rows, dropped=rows - len(cache.kept), root=self.token(0),
                         before=cache.length_before, after=cache.length_after, bonus=self.token(self.bonus))
