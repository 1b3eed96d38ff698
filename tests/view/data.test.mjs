import assert from 'node:assert/strict';
import test from 'node:test';
import {Data, bitsOf, unpack} from '../../assets/view/data.js';
import {cellsOf, clip, num, short} from '../../assets/view/text.js';
import {Place} from '../../assets/view/place.js';

const header = {prompt: {text: 'a', token_ids: [1]}, page: {labels: {1: 'a', 7: 'x'}}};
// Root 7; layer 0 makes 1 and 2 of it, layer 1 makes 3 of 2 and 4 of 1; kept are 2, 3; accepted is 2; the bonus hangs
// off it.
const round = {
  index: 0,
  prefix_length: 1,
  root: 7,
  candidates: {
    token: [1, 2, 3, 4],
    parent: [0, 0, 2, 1],
    layer: [0, 0, 1, 1],
    log_prob: [-1, -0.5, -0.25, -3],
    score: [-1, -0.5, -0.75, -4],
  },
  layers: [],
  tree: {
    candidate: [0, 2, 3],
    parent: [-1, 0, 1],
    depth: [0, 1, 2],
    position_ids: [1, 2, 3],
    mask: ['80', 'c0', 'e0'],
    retrieve_indices: [[0, 1, 2]],
    cutoff: -0.75,
  },
  target: {argmax: [2, 9, 9], token_prob: [1, 0.5, 0.1], top: []},
  accept: {rule: 'greedy', row: 0, path: [0, 1], length: 1, draws: [], bonus: 9, bonus_from: 1},
};
const page = {
  labels: {2: 'b', 3: 'c', 9: 'z'},
  frames: [
    {kind: 'root', states: 'R.5'},
    {kind: 'accept', states: 'Rpakpb'},
  ],
  box: [0, 2, 3, 5],
  y: [0, 0, 0, 1],
};
const line = part => JSON.stringify(part) + '\n';

test('the lines are read as they grow', () => {
  const data = new Data(),
    first = line(header),
    second = line({round, page});
  assert.equal(data.read(first), 'new');
  assert.equal(data.read(first), 'same');
  assert.equal(data.read(first + second.slice(0, 9)), 'more');
  assert.equal(data.rounds, 0);
  assert.equal(data.read(first + second), 'more');
  assert.equal(data.rounds, 1);
  assert.equal(data.read(first), 'new');
  assert.equal(data.rounds, 0);
});

test('a round knows its nodes: depths by their parents, states by frame, the path, the mask', () => {
  const data = new Data();
  data.read(line(header) + line({round, page}));
  const m = data.round(0);
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5].map(id => m.depth(id)),
    [0, 1, 1, 2, 2, 2],
  );
  assert.deepEqual(m.ranked, [2, 3, 1, 4]);
  assert.deepEqual(m.there(0), []);
  assert.deepEqual(m.path(3), [0, 2, 3]);
  assert.equal(m.state(1, 2), 'a');
  assert.equal(m.label(5), 'z');
  assert.equal(m.wanted(2), true);
  assert.equal(m.wanted(3), false);
  assert.deepEqual([m.sees(2, 1), m.sees(1, 2)], [true, false]);
  assert.deepEqual(m.depthFirst(), [0, 2, 3, 5]);
});

test('a root alone is a round too', () => {
  const data = new Data(),
    none = {token: [], parent: [], layer: [], log_prob: [], score: []};
  const tree = {
    candidate: [0],
    parent: [-1],
    depth: [0],
    position_ids: [1],
    mask: ['80'],
    retrieve_indices: [[0]],
    cutoff: null,
  };
  const accept = {...round.accept, path: [0], length: 0, bonus_from: 0};
  const bare = {...round, candidates: none, tree, accept, target: {argmax: [9], token_prob: [1], top: []}};
  data.read(
    line(header) +
      line({round: bare, page: {...page, frames: [{kind: 'root', states: 'R.'}], box: [0, 1], y: [0, 0]}}),
  );
  const m = data.round(0);
  assert.deepEqual([m.count, m.bonus, m.depth(1)], [0, 1, 1]);
  assert.ok(new Place(m, false, 500, 300).size.w > 100);
});

test('what the viewer added is not saved', () => {
  const data = new Data();
  data.read(line(header) + line({round, page}));
  const [first, second] = data
    .plain()
    .trim()
    .split('\n')
    .map(text => JSON.parse(text));
  assert.deepEqual(first, {prompt: header.prompt});
  assert.deepEqual(second, {round});
});

test('packed states and bits', () => {
  assert.equal(unpack('R.3k2'), 'R...kk');
  assert.deepEqual([...bitsOf('a1')], [1, 0, 1, 0, 0, 0, 0, 1]);
});

test('numbers and texts', () => {
  assert.deepEqual([num(-0.125), num(-0.001), num(2, 0)], ['\u22120.13', '0.00', '2']);
  assert.deepEqual([short(0.999), short(0.004), short(0.25)], ['1.0', '.00', '.25']);
  assert.equal(cellsOf('a月'), 3);
  assert.equal(clip('abcdef', 4), 'abc…');
  assert.equal(clip('月月月', 4), '月…');
});
