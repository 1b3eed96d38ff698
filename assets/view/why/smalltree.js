// A round's tree, small: where its nodes stand. The target's own path runs straight along the top.

// ids: those to be placed, parents among them (0, the root, is there anyway). Gives {place: id -> [depth, line], lines,
// depth}; a node stands on the line of its first child.
export const placed = (parent, ids, path) => {
  const children = new Map(),
    on = new Set(path);
  for (const id of ids) {
    const of = parent[id - 1];
    if (!children.has(of)) children.set(of, []);
    children.get(of).push(id);
  }
  for (const each of children.values()) each.sort((a, b) => on.has(b) - on.has(a) || a - b);
  const place = new Map([[0, [0, 0]]]),
    waiting = [[0, 0]];
  let lines = 0,
    deepest = 0;
  while (waiting.length) {
    const [id, depth] = waiting.pop(),
      below = children.get(id) ?? [];
    place.set(id, [depth, lines]);
    deepest = Math.max(deepest, depth);
    if (!below.length) lines++;
    for (const child of [...below].reverse()) waiting.push([child, depth + 1]);
  }
  return {place, lines, depth: deepest};
};
