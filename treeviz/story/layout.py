"""Where the nodes of a round stand. Knows nothing of colours, and nothing of who draws them.

The layout is tidy and packed: a parent is centred on its children, subtrees are pushed together until they touch
at some depth. One layout serves all frames of a round, so that stepping moves nothing.
"""

from __future__ import annotations


def boxes(r) -> dict[int, int]:
    """The nodes worth a box, with their parents: root, kept or expanded candidates, and the bonus (last id).

    The other candidates, most of them, are drawn as a thin fan at their parent.
    """
    ids = set(r.tree.candidate) | {i for layer in r.layers for i in layer.expanded}
    parent = {i: r.candidates.parent[i - 1] if i else -1 for i in sorted(ids)}
    parent[len(r.candidates.token) + 1] = r.tree.candidate[r.accept.bonus_from]
    return parent


def layout(r) -> dict[int, tuple[int, float]]:
    """{node: (depth, y)} for every box of a round; y in rows, the topmost at 0, siblings at least 1 apart."""
    parent = boxes(r)
    children: dict[int, list[int]] = {}
    for node, above in parent.items():
        children.setdefault(above, []).append(node)
    offset = _pack(parent, children)
    place: dict[int, tuple[int, float]] = {}
    for node, above in _parents_first(parent, children):
        depth, y = place.get(above, (-1, 0.0))
        place[node] = (depth + 1, y + offset[node])
    top = min(y for _, y in place.values())
    return {node: (depth, round(y - top, 3)) for node, (depth, y) in sorted(place.items())}


def _parents_first(parent, children):
    waiting = [0]
    while waiting:
        node = waiting.pop()
        yield node, parent[node]
        waiting += children.get(node, [])


def _pack(parent: dict, children: dict) -> dict[int, float]:
    """The offset of every node from its parent. Children first, without recursion: a chain may be very deep."""
    offset: dict[int, float] = {0: 0.0}
    contours: dict[int, list[tuple[float, float]]] = {}  # of a subtree, (top, bottom) per depth
    for node, _ in reversed(list(_parents_first(parent, children))):
        contour: list[tuple[float, float]] = []
        starts = []
        for child in children.get(node, []):
            below = contours.pop(child)
            shift = max((low + 1 - top for (_, low), (top, _) in zip(contour, below)), default=0.0)
            starts.append((child, shift))
            moved = [(top + shift, low + shift) for top, low in below]
            contour = [(contour[i][0] if i < len(contour) else moved[i][0],
                        moved[i][1] if i < len(moved) else contour[i][1]) for i in range(max(len(contour), len(moved)))]
        middle = (starts[0][1] + starts[-1][1]) / 2 if starts else 0.0
        for child, shift in starts:
            offset[child] = shift - middle
        contours[node] = [(0.0, 0.0)] + [(top - middle, low - middle) for top, low in contour]
    return offset
