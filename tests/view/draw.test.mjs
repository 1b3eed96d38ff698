import assert from 'node:assert/strict';
import test from 'node:test';
import {calibration, together} from '../../assets/view/why/calibration.js';
import * as draw from '../../assets/view/why/draw.js';
import {Model} from '../../assets/view/why/model.js';
import {placed} from '../../assets/view/why/smalltree.js';

const {linear, logarithmic, percent, rich, round, seconds, stairs, table, tens, through, times} = draw;

test('scales put values where they belong', () => {
  assert.equal(linear(0, 10, 100, 200)(2.5), 125);
  assert.equal(linear(3, 3, 0, 9)(3), 0, 'of one value alone');
  assert.ok(Math.abs(logarithmic(1, 100, 0, 10)(10) - 5) < 1e-9);
  assert.deepEqual(round(3.56), [0, 1, 2, 3]);
  assert.deepEqual(round(0.53), [0, 0.2, 0.4]);
  assert.deepEqual(tens(0.01, 1.5), [0.01, 0.1, 1]);
});

test('lines go through their points, stairs are level until the next', () => {
  const points = [
    [0, 9],
    [4, 5],
  ];
  assert.equal(through(points), 'M0 9L4 5');
  assert.equal(stairs(points, 8), 'M0 9H4V5H8');
});

test('numbers as they are read', () => {
  assert.deepEqual([0.0042, 0.139, 2.004, 12].map(seconds), ['4.2 ms', '139 ms', '2.00 s', '12.0 s']);
  assert.deepEqual([percent(0.476), times(0.426), times(12.34)], ['48 %', '0.43×', '12.3×']);
});

test('a template takes parts in the place of its names, and keeps those that nobody gives', () => {
  assert.deepEqual(rich('{a} after {b}.', {a: ['b', {}, 'x']}), [['b', {}, 'x'], ' after ', '{b}', '.']);
});

test('a table has a head for each column, and opens by itself only where it is told to', () => {
  const [tag, of, , [, , [, , head, body]]] = table('rows', ['a', 'b'], [[{class: 'now'}, '1', '2']]);
  assert.deepEqual([tag, of.open], ['details', undefined]);
  assert.deepEqual([head[2].length - 2, body[2][1].class, body[2].length - 2], [2, 'now', 2]);
  assert.equal(table('rows', [], [], true)[1].open, '');
});

test('in a small tree the path is on top, and every leaf has a line of its own', () => {
  const {place, lines, depth} = placed([0, 0, 1, 2, 2], [1, 2, 3, 4, 5], [2, 5]); // 1 > 3; 2 > 4, 5
  assert.deepEqual([lines, depth], [3, 2]);
  assert.deepEqual(
    [0, 2, 5, 4, 1, 3].map(id => place.get(id)),
    [
      [0, 0],
      [1, 0],
      [2, 0],
      [2, 1],
      [1, 2],
      [2, 2],
    ],
  );
  assert.deepEqual(placed([], [], []), {place: new Map([[0, [0, 0]]]), lines: 1, depth: 0});
});

const round0 = {
  candidates: {token: [1, 2], parent: [0, 0], layer: [0, 0], score: [-0.1, -3]},
  layers: [{expanded: [0], passes: 1}],
  tree: {candidate: [0, 1]},
  accept: {path: [0], length: 0, bonus: 2, bonus_from: 0},
  seconds: {draft: 1, tree: 0, verify: 1, accept: 0, commit: 0},
};
const run = {config: {policy: 'chain'}, rounds: [round0, round0], output: null, summary: null, check: null};

test('the bins of two runs together are those of both', () => {
  const [one, two] = [[run], [{...run, rounds: [round0]}]].map(runs => calibration(runs));
  assert.deepEqual(together([one, two]), calibration([run, {...run, rounds: [round0]}]));
});

test('a model reckons once, and anew what a price changes', () => {
  const model = new Model(run),
    {clock, bins} = model;
  assert.equal(model.clock, clock);
  assert.equal(model.cost, null);
  assert.equal(model.what, null);
  const line = seconds => ({rows: [1], seconds: [seconds]});
  model.price({verify: line(0.5), rest: line(0), plain: 0.5});
  assert.equal(model.clock.plain, 0.5);
  assert.equal(model.bins, bins);
});
