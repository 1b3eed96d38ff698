import assert from 'node:assert/strict';
import test from 'node:test';
import {foldable, kidsOf, linesOf} from '../../assets/view/lines.js';
import {BOX, Place} from '../../assets/view/place.js';
import {maskOrder} from '../../assets/view/mask.js';

// parents[i] is the parent of box i, the root's is -1; the last box is the bonus.
const model = (parents, labels = []) => {
  const depth = [];
  parents.forEach((parent, id) => (depth[id] = parent < 0 ? 0 : depth[parent] + 1));
  return {
    place: new Map(parents.map((_, id) => [id, {depth: depth[id], y: id}])),
    parent: parents,
    bonus: parents.length - 1,
    depth: id => depth[id],
    label: id => labels[id] ?? `t${id}`,
    logProb: id => [null, Math.log(0.25), Math.log(0.64)][id],
  };
};
// Root 0 with 1, 2, 3, 4; 1 has 5, 6, 7; 5 has 8 and 9; the bonus 10 hangs off 2.
const small = model([-1, 0, 0, 0, 0, 1, 1, 1, 5, 5, 2]);
// Three layers of six children each, and the bonus off the first of the last.
const wide = model([-1, ...Array(6).fill(0), ...[1, 2, 3, 4, 5, 6].flatMap(id => Array(6).fill(id)),
  ...Array.from({length: 36}, (_, i) => 7 + i).flatMap(id => Array(2).fill(id)), 43]); // prettier-ignore
const keep = m => {
  const path = new Set([m.bonus]);
  for (let id = m.bonus; id >= 0; id = m.parent[id]) path.add(id);
  return path;
};

test('a box a line, parents in the middle of their children, the bonus last', () => {
  const {y, lines, beside} = linesOf(small, kidsOf(small), {keep: keep(small)});
  assert.equal(lines, 7); // 8, 9, 6, 7, 10, 3, 4
  assert.equal(beside.size, 0);
  assert.deepEqual([8, 9, 6, 7, 10, 3, 4].map(id => y.get(id)), [0, 1, 2, 3, 4, 5, 6]); // prettier-ignore
  assert.deepEqual(
    [5, 1, 2].map(id => y.get(id)),
    [0.5, 1.75, 4],
  );
  assert.equal(y.get(0), (1.75 + 6) / 2);
});

test('siblings without children share a line, but for what the round is about', () => {
  const kids = kidsOf(small),
    {y, lines, beside} = linesOf(small, kids, {keep: keep(small), shared: true});
  assert.equal(lines, 4); // 8 9 | 6 7 | 10 | 3 4
  assert.deepEqual([...beside], [[9, 8], [7, 6], [4, 3]]); // prettier-ignore
  assert.equal(y.get(8), y.get(9));
  const pinned = linesOf(small, kids, {keep: new Set([...keep(small), 9]), shared: true});
  assert.ok(!pinned.beside.has(9) && pinned.lines === 5);
  const narrow = linesOf(small, kids, {keep: keep(small), shared: true, fits: () => 1});
  assert.equal(narrow.lines, 7);
});

test('branches are folded, the deepest first and never the path', () => {
  const kids = kidsOf(small);
  assert.deepEqual(foldable(small, kids, keep(small)), [5, 1]);
  const {y, lines, folded} = linesOf(small, kids, {keep: keep(small), folded: new Set([5]), shared: true});
  assert.deepEqual([...folded], [[5, 2]]);
  assert.ok(!y.has(8) && !y.has(9) && lines === 3);
});

test('whatever the room, what is shown lies in it in lines, and the path is there', () => {
  for (const m of [small, wide])
    for (const [width, height] of [
      [900, 700],
      [900, 420],
      [700, 330],
      [520, 300],
      [1400, 900],
    ]) {
      // prettier-ignore
      const map = new Place(m, false, width, height, {keep: keep(m)}),
        spots = [...map.spots];
      assert.ok(map.size.w <= width && map.size.h <= height, `${width} x ${height}: ${map.size.w} x ${map.size.h}`);
      for (const id of keep(m)) assert.ok(map.has(id));
      for (const [id, a] of spots) {
        assert.ok(a.x >= 0 && a.x + a.w <= map.size.w + 1e-6 && a.y + a.h <= map.size.h + 1e-6);
        if (id)
          assert.ok(map.at(m.parent[id]).x + map.at(m.parent[id]).w <= a.x + 1e-6, 'to the right of its parent');
        for (const [other, b] of spots)
          if (other > id)
            assert.ok(
              a.x + a.w <= b.x + 1e-6 || b.x + b.w <= a.x + 1e-6 || a.y + a.h <= b.y || b.y + b.h <= a.y,
              `${id} lies over ${other} in ${width} x ${height}`,
            );
      }
      assert.ok(map.u * 12 >= 11.5, 'type that can be read');
    }
});

test('the type is as large as the room allows, and then the tree gives way', () => {
  const ways = (m, width, height) => {
    const map = new Place(m, false, width, height, {keep: keep(m)});
    return [map.way, map.u * 12];
  };
  assert.deepEqual(ways(small, 1400, 900), ['boxes', 15]);
  assert.equal(ways(small, 1400, 170)[0], 'boxes');
  assert.ok(ways(small, 1400, 170)[1] < 15);
  assert.equal(ways(small, 1400, 110)[0], 'shared');
  assert.equal(ways(small, 1400, 60)[0], 'folded');
});

test('a branch that the reader folds is folded, one that is asked for stays open', () => {
  const map = new Place(small, false, 900, 700, {keep: keep(small), folds: new Set([1])});
  assert.deepEqual([map.folded.get(1), map.has(5), map.has(8)], [5, false, false]);
  const some = new Place(small, false, 900, 700, {keep: keep(small), only: new Set([0, 2, 10])});
  assert.deepEqual([...some.shown].sort(), [0, 10, 2]);
});

test('turned, depth goes down and all columns are alike', () => {
  const map = new Place(small, true, 600, 400);
  assert.deepEqual(new Set([...map.spots.values()].map(b => b.w)).size, 1);
  assert.equal(map.at(5).y, 2 * BOX.down);
});

test('an edge goes from the far side of the parent to the near side of the child', () => {
  const numbers = path => path.match(/-?[\d.]+/g).map(Number);
  for (const down of [false, true]) {
    const map = new Place(small, down, 600, 400),
      [a, b] = [map.at(0), map.at(2)],
      path = numbers(map.curve(0, 2));
    const from = down ? [a.x + a.w / 2, a.y + a.h] : [a.x + a.w, a.y + a.h / 2];
    const to = down ? [b.x + b.w / 2, b.y] : [b.x, b.y + b.h / 2];
    assert.deepEqual([path.slice(0, 2), path.slice(-2)], [from, to]);
  }
});

test('a fan has a hair for every thin candidate, the likelier the longer; none between two boxes of a line', () => {
  const map = new Place(small, false, 900, 700, {keep: keep(small)});
  const hairs = map.fan(0, [1, 2]).split('M').slice(1);
  const lengths = hairs.map(hair => {
    const [dx, dy] = hair
      .match(/l(-?[\d.]+) (-?[\d.]+)/)
      .slice(1)
      .map(Number);
    return Math.hypot(dx, dy);
  });
  assert.ok(Math.abs(lengths[0] - (7 + 20 * 0.5)) < 0.1 && Math.abs(lengths[1] - (7 + 20 * 0.8)) < 0.1, `${lengths}`);
  assert.match(map.fan(0, [1]), /l17\.0 0\.0m/); // straight on
  const shared = new Place(small, false, 900, 110, {keep: keep(small)});
  assert.equal(shared.fan(8, [1]), '');
  assert.notEqual(shared.fan(9, [1]), '');
});

test('rows of the mask stand as they were made, or tree by tree', () => {
  // row 1 and 2 hang off the root, 3 off 2, 4 off 1, 5 off 2
  const m = {raw: {tree: {parent: [-1, 0, 0, 2, 1, 2]}}};
  assert.deepEqual(maskOrder(m, false), {rows: [0, 1, 2, 3, 4, 5], at: [0, 1, 2, 3, 4, 5]});
  const {rows, at} = maskOrder(m, true);
  assert.deepEqual(rows, [0, 1, 4, 2, 3, 5]);
  assert.deepEqual(at, [0, 1, 3, 4, 2, 5]);
  assert.deepEqual(maskOrder({raw: {tree: {parent: [-1]}}}, true), {rows: [0], at: [0]});
});
