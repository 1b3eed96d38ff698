import assert from 'node:assert/strict';
import test from 'node:test';
import {balance, clock, plainPass} from '../../assets/view/why/clock.js';
import {costOfDocument, costOfRun, secondsAt} from '../../assets/view/why/cost.js';
import {lasts, margin, outAt, race} from '../../assets/view/why/race.js';

const close = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

// Two rounds of three rows, a token accepted in each; the bonus of the second lies behind the end.
const round = {
  candidates: {token: [5, 6], parent: [0, 1]},
  layers: [{passes: 1}, {passes: 1}],
  tree: {candidate: [0, 1, 2]},
  accept: {path: [0, 1], bonus: 9},
  seconds: {draft: 0.2, tree: 0.01, verify: 0.5, accept: 0.02, commit: 0.07},
};
const run = {
  rounds: [round, round],
  output: {token_ids: [1, 5, 9, 5]},
  summary: {seconds: {prefill: 0.4}},
  check: {tokens: 4, seconds: 1, clock: [0.4, 0.5, 0.9, 1]},
};
const unchecked = {...run, check: {tokens: null, seconds: null, clock: []}};

test('a plain pass is the check without its prompt', () => {
  close(plainPass(run), 0.2);
  assert.equal(plainPass(unchecked), null);
  assert.equal(plainPass({...run, check: {tokens: 1, seconds: 1, clock: [1]}}), null);
});

test('the clock: rounds, tokens that came out, the quotient of the speeds', () => {
  const found = clock(run);
  close(found.total, 0.4 + 2 * 0.8);
  assert.deepEqual(
    found.rounds.map(r => r.tokens),
    [2, 1],
  );
  close(found.rounds[0].costs, 4);
  close(found.speed.tree, 2);
  close(found.speed.plain, 4);
  close(found.quotient, 0.5);
  close(found.seconds.draft, 0.4);
  assert.equal(found.from, 'check');
});

test('without a check there is no quotient, but by a cost curve there is', () => {
  assert.deepEqual([clock(unchecked).quotient, clock(unchecked).from, balance(clock(unchecked))], [null, null, null]);
  const cost = costOfDocument({verify: {rows: [1], seconds: [0.3]}, rest: {rows: [1], seconds: [0.1]}}),
    found = clock(unchecked, cost);
  assert.equal(found.from, 'cost');
  close(found.alone, 0.4 + 3 * 0.4);
  close(found.quotient, found.alone / found.total);
});

test('a run that still grows counts what is decided', () => {
  assert.equal(clock({...run, output: null, summary: null, check: null}).tokens, 5);
});

test('what would have to change', () => {
  const {costs, brings, cheaper, free, guessed} = balance(clock(run));
  close(costs, 4);
  close(brings, 1.5);
  close(cheaper, 1 - 1.5 / 4);
  close(free, 4 / (2 - 2 * 0.3) / 4);
  close(guessed, 4 / (2 - 2 * 0.2) / 4);
});

test('a curve is a line between what was measured, and goes on', () => {
  const curve = {rows: [1, 4, 8], seconds: [1, 4, 6]};
  assert.deepEqual(
    [0, 1, 2.5, 8, 10].map(rows => secondsAt(curve, rows)),
    [1, 1, 2.5, 6, 7],
  );
  assert.equal(secondsAt({rows: [2], seconds: [3]}, 9), 3);
});

test('a run tells two points of its own curve', () => {
  const cost = costOfRun(run);
  close(cost.plain, 0.2);
  close(cost.worth(3), 2.5);
  close(cost.round(9, 1, 2), 0.8); // as the rounds took, whatever top_k: one point is known of the head
  assert.equal(costOfRun(unchecked), null);
  assert.equal(costOfRun({...run, rounds: []}), null);
});

test('the plateau ends before the first pass that costs more', () => {
  const cost = costOfDocument({verify: {rows: [1, 2, 4, 8, 16], seconds: [1, 1.1, 1.2, 1.5, 1.2]}});
  assert.equal(cost.plateau(), 4);
});

test('both lanes run on one clock, to the same text', () => {
  const lanes = race(clock(run));
  close(lasts(lanes.tree), 2);
  close(lasts(lanes.plain), 1);
  close(lasts(lanes.free), 2 - 2 * 0.3);
  for (const lane of Object.values(lanes)) {
    assert.equal(lane[0].from, 0);
    lane.slice(1).forEach((segment, i) => assert.equal(segment.from, lane[i].to));
    assert.equal(outAt(lane, 9), 4);
  }
  assert.deepEqual(
    [0.3, 0.5, 1.3].map(time => outAt(lanes.tree, time)),
    [0, 1, 3],
  );
  assert.deepEqual(
    lanes.tree.map(({kind, round: of}) => [kind, of]),
    [['prompt', null], ...[0, 1].flatMap(i => ['head', 'target', 'rest'].map(kind => [kind, i]))],
  );
  assert.deepEqual(
    lanes.plain.map(({to}) => Math.round(10 * to)),
    [4, 5, 9, 10],
    'as it was measured',
  );
  assert.deepEqual(margin(lanes), {ahead: 'plain', tokens: 3});
});

test('without plain seconds the tree runs alone', () => {
  const {tree, plain, free} = race(clock(unchecked));
  assert.equal(tree.length, 7);
  assert.deepEqual([plain, free], [null, null]);
});
