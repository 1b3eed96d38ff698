// Which line of the tree a box stands on, and with whom: the rule by which a tree of any size is read whole, at a size
// that can be read. Siblings without children may share a line; side branches may be folded into their first word. What
// the round is about, in `keep`, does neither. Knows boxes and lines; no pixels, no labels.

// The boxes under each box, likeliest first, the bonus last.
export const kidsOf = (m, only = null) => {
  const kids = new Map([...m.place.keys()].filter(id => !only || only.has(id)).map(id => [id, []]));
  for (const id of kids.keys()) if (id) kids.get(m.parent[id])?.push(id);
  return kids;
};

// Every box after its parent.
const downward = kids => {
  const order = [0];
  for (let i = 0; i < order.length; i++) order.push(...(kids.get(order[i]) ?? []));
  return order;
};

// How many boxes hang under each.
const sizes = kids => {
  const size = new Map();
  for (const id of downward(kids).reverse())
    size.set(
      id,
      kids.get(id).reduce((sum, kid) => sum + 1 + size.get(kid), 0),
    );
  return size;
};

// Branches that may be folded, in the order in which they are: the deepest first, of those the smallest.
export const foldable = (m, kids, keep) => {
  const size = sizes(kids);
  return [...kids.keys()]
    .filter(id => kids.get(id).length && !keep.has(id))
    .sort((a, b) => m.depth(b) - m.depth(a) || size.get(a) - size.get(b));
};

// {y: line of each box, halves too; beside: the box that one stands right of, in the same line; lines: how many;
// folded: boxes under a folded one}. `fits(ids, depth)`: how many of these fit one line that begins at this depth.
export const linesOf = (m, kids, {keep, folded = new Set(), shared = false, fits = () => Infinity}) => {
  const y = new Map(),
    beside = new Map(),
    under = new Map(),
    open = id => (folded.has(id) ? [] : kids.get(id)),
    size = folded.size ? sizes(kids) : null,
    order = [],
    waiting = [[0]];
  let lines = 0;
  while (waiting.length) {
    const group = waiting.pop();
    order.push(group[0]);
    for (const id of group) if (folded.has(id)) under.set(id, size.get(id));
    const kids = group.length > 1 ? [] : open(group[0]);
    if (!kids.length) {
      group.forEach((id, i) => {
        y.set(id, lines);
        if (i) beside.set(id, group[i - 1]);
      });
      lines++;
      continue;
    }
    const alone = kids.filter(id => !shared || keep.has(id) || open(id).length),
      together = kids.filter(id => !alone.includes(id)),
      groups = alone.filter(id => id !== m.bonus).map(id => [id]);
    while (together.length) groups.push(together.splice(0, Math.max(1, fits(together, m.depth(together[0])))));
    if (alone.includes(m.bonus)) groups.push([m.bonus]);
    waiting.push(...groups.reverse());
  }
  for (const id of order.reverse()) {
    const kids = open(id);
    if (y.has(id)) continue;
    const at = kids.map(kid => y.get(kid));
    y.set(id, (Math.min(...at) + Math.max(...at)) / 2);
  }
  return {y, beside, lines, folded: under};
};
