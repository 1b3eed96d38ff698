import assert from 'node:assert/strict';
import test from 'node:test';
import {bestOf, shapes, totals} from '../../assets/view/why/best.js';
import {calibration, wilson} from '../../assets/view/why/calibration.js';
import {counts, losses} from '../../assets/view/why/lost.js';
import {runOf} from '../../assets/view/why/run.js';
import {fixedShape} from '../../assets/view/why/shapes.js';
import {WhatIf, askable} from '../../assets/view/why/whatif.js';

// top_k 2, depth 1: the root's children 1 and 2, theirs 3 to 6. The text goes on 20 (id 2), 30 (id 5), then 40.
const columns = {token: [10, 20, 30, 31, 30, 31], parent: [0, 0, 1, 1, 2, 2], layer: [0, 0, 1, 1, 1, 1]};
const score = [-0.3, -1.5, -0.5, -2.5, -2, -3]; // best first: 1, 3, 2, 5, 4, 6
const layers = [{expanded: [0]}, {expanded: [1, 2]}];
const round = (kept, path, bonus) => ({
  candidates: {...columns, score},
  layers,
  tree: {candidate: [0, ...kept], cutoff: score[kept.at(-1) - 1]},
  accept: {path, length: path.length - 1, bonus, bonus_from: path.at(-1)},
});
const config = {policy: 'eagle2', top_k: 2, depth: 1, total_tokens: 2, temperature: 0};
const cut = round([1, 3], [0], 20), // the first kept nothing of it, the second two of it
  whole = round([1, 2, 5], [0, 2, 3], 40);
const run = {config, rounds: [cut, {...whole, candidates: {...columns, token: [10, 30, 30, 31, 40, 31], score}}]};

test('a lost round says what its token lacked', () => {
  const [first, second] = losses(run);
  const scored = {candidate: 2, rank: 3, score: -1.5, cutoff: -0.5};
  assert.deepEqual(first, {reason: 'cut', round: 0, after: 0, wanted: 20, ...scored});
  assert.deepEqual([second.reason, second.after], ['depth', 5]);
  const ended = losses({...run, output: {token_ids: [1, 20, 30]}});
  assert.deepEqual(counts(ended), [
    ['ended', 1],
    ['cut', 1],
  ]);
});

test('what-if: how much would have to be kept, and what is not known behind the end', () => {
  assert.ok(askable(run) && !askable({...run, config: {...config, temperature: 1}}));
  const what = new WhatIf(run);
  assert.deepEqual(what.outlooks()[0].maybe, [3, 4]); // ids 2 and 5, third and fourth by score
  assert.deepEqual(
    [1, 2, 3, 4].map(total => what.at(2, 1, total).low[0]),
    [0, 0, 1, 2],
  );
  assert.deepEqual(what.at(2, 0, 6).low, [1, 1]);
  assert.deepEqual(what.outlooks()[0].kept(3), [[1, 2, 3], []]);
});

test('what-if: a narrower beam would have fed what was fed too', () => {
  const what = new WhatIf(run);
  assert.deepEqual(what.at(1, 1, 9).low, [0, 0]);
  assert.deepEqual(what.outlooks(1, 1)[0].kept(9), [[1, 3], []]);
});

test('calibration counts what was said; an interval is wider for fewer', () => {
  const bins = calibration([run]);
  assert.equal(
    bins.reduce((all, bin) => all + bin.count, 0),
    12,
  );
  assert.equal(
    bins.reduce((all, bin) => all + bin.said, 0),
    4,
  );
  assert.deepEqual([bins[7].count, bins[7].said, bins[7].share], [2, 0, 0]); // exp(-0.3)
  assert.deepEqual([bins[9].share, bins[9].interval], [null, null]);
  assert.deepEqual(wilson(0, 10)[0], 0);
  assert.ok(wilson(50, 100)[1] - wilson(50, 100)[0] < wilson(5, 10)[1] - wilson(5, 10)[0]);
});

test('the best fixed shape is where most texts go through', () => {
  const found = fixedShape(run);
  assert.deepEqual([found.shape, found.accepted, found.dynamic], [['2', '2,1'], [2, 2], [0, 2]]);
  assert.deepEqual(fixedShape(run, 1).accepted, [1, 1]);
  assert.deepEqual(fixedShape({...run, rounds: []}).tau, {accepted: 0, blind: 0, dynamic: 0});
});

test('the fastest setting: more is kept as long as a row is worth it', () => {
  const what = new WhatIf({...run, config: {...config, total_tokens: 6}}),
    costing = row => ({round: (k, depth, total) => 1 + row * total});
  assert.equal(bestOf(what, costing(0.01), [2, 1]).totalTokens, 4);
  assert.equal(bestOf(what, costing(9), [2, 1]).totalTokens, 1);
  assert.deepEqual(shapes({topK: 2, depth: 1}), [
    [2, 1],
    [2, 0],
    [1, 1],
    [1, 0],
  ]);
  assert.deepEqual([totals(3), totals(510).at(-1)], [[1, 2, 3], 510]);
});

test('a run as the page holds it, with and without its end', () => {
  const header = {config},
    lines = [{round: cut}];
  assert.deepEqual(runOf({header, lines, footer: null}).check, null);
  assert.deepEqual(runOf({header, lines, footer: {check: 1, output: 2, summary: 3}}), {
    ...{config, rounds: [cut], check: 1, output: 2, summary: 3},
  });
});
