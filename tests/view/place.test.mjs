import assert from 'node:assert/strict';
import test from 'node:test';
import {BOX, MOST, Place, READABLE} from '../../assets/view/place.js';
import {maskOrder} from '../../assets/view/mask.js';

// Root 0 with the children 1 and 2, 3 hangs off 2; 4 is the bonus. Labels of a width that is easy to reckon with.
const labels = ['root', 'abc', 'abcdefghijklmnop', '月月', ''];
const model = place => ({
  place: new Map(place.map(([id, depth, y]) => [id, {depth, y}])),
  label: id => labels[id],
  logProb: id => [null, Math.log(0.25), Math.log(0.64)][id],
});
const tree = model([
  [0, 0, 0.5],
  [1, 1, 0],
  [2, 1, 1],
  [3, 2, 1],
  [4, 3, 1],
]);
const near = (found, wanted) => assert.ok(Math.abs(found - wanted) < 1e-9, `${found} is not ${wanted}`);

test('a column is as wide as its longest label, but no wider than twelve cells', () => {
  const {w} = new Place(tree, false, 600, 400); // too narrow to spread
  const width = cells => BOX.pad + BOX.cell * cells + BOX.side;
  near(w[0], width(4)); // the root has no sign before it
  near(w[1], width(12));
  near(w[2], width(4 + 2)); // wide scripts take two
  near(w[3], 72); // no narrower than this
});

test('columns stand beside each other, rows below each other', () => {
  const map = new Place(tree, false, 600, 400);
  near(map.at(1).x, map.w[0] + BOX.gap);
  near(map.at(3).x, map.w[0] + map.w[1] + 2 * BOX.gap);
  assert.deepEqual([map.at(0).y, map.at(1).y, map.at(2).y], [BOX.pitch / 2, 0, BOX.pitch]);
  near(map.size.w, map.w[0] + map.w[1] + map.w[2] + map.w[3] + 3 * BOX.gap);
  near(map.size.h, BOX.pitch + BOX.height);
});

test('where there is room, columns spread over it, and no further than is good', () => {
  const low = new Place(tree, false, 700, 1000),
    wide = new Place(tree, false, 5000, 1000);
  const tight = low.w.reduce((a, b) => a + b) + 3 * BOX.gap;
  near(low.size.w, Math.max(tight, Math.min(700 / Math.min(MOST, 700 / tight), tight + 3 * (74 - BOX.gap))));
  near(wide.size.w, tight + 3 * (74 - BOX.gap));
  const flat = new Place(tree, false, 700, 10); // the height would have it smaller than can be read
  near(flat.size.w, Math.min(700 / READABLE, tight + 3 * (74 - BOX.gap)));
});

test('turned, depth goes down and all columns are alike', () => {
  const map = new Place(tree, true, 600, 400);
  assert.deepEqual(new Set(map.w), new Set([112]));
  assert.deepEqual(map.at(2), {x: 112 + BOX.beside, y: BOX.down, w: 112});
  assert.deepEqual(map.size, {w: 112 + BOX.beside + 112, h: 3 * BOX.down + BOX.height});
});

test('an edge goes from the far side of the parent to the near side of the child', () => {
  const numbers = path => path.match(/-?[\d.]+/g).map(Number);
  for (const down of [false, true]) {
    const map = new Place(tree, down, 600, 400),
      [a, b] = [map.at(0), map.at(2)],
      path = numbers(map.curve(0, 2));
    const from = down ? [a.x + a.w / 2, a.y + BOX.height] : [a.x + a.w, a.y + BOX.height / 2];
    const to = down ? [b.x + b.w / 2, b.y] : [b.x, b.y + BOX.height / 2];
    assert.deepEqual([path.slice(0, 2), path.slice(-2)], [from, to]);
  }
});

test('a fan has a hair for every thin candidate, the likelier the longer', () => {
  const hairs = new Place(tree, false, 600, 400).fan(0, [1, 2]).split('M').slice(1);
  const lengths = hairs.map(hair => {
    const [dx, dy] = hair.match(/l(-?[\d.]+) (-?[\d.]+)/).slice(1).map(Number);
    return Math.hypot(dx, dy);
  });
  assert.ok(Math.abs(lengths[0] - (7 + 20 * 0.5)) < 0.1 && Math.abs(lengths[1] - (7 + 20 * 0.8)) < 0.1, `${lengths}`);
  const alone = new Place(tree, false, 600, 400).fan(0, [1]);
  assert.match(alone, /l17\.0 0\.0m/); // straight on
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
