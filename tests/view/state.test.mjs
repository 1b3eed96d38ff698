import assert from 'node:assert/strict';
import test from 'node:test';
import {START, changed, stepped} from '../../assets/view/state.js';

// Two rounds: one of 3 frames in which node 2 exists from the last on, one of 2 frames.
const rounds = [
  {frames: [0, 1, 2], state: (frame, id) => (id === 2 && frame < 2 ? '.' : 'k')},
  {frames: [0, 1], state: () => 'k'},
];
const round = i => rounds[i],
  length = i => rounds[i].frames.length;

test('a step goes on into the next round, and back into the last frame of the one before', () => {
  assert.deepEqual(stepped({round: 0, frame: 2}, 1, 2, length), {round: 1, frame: 0});
  assert.deepEqual(stepped({round: 1, frame: 0}, -1, 2, length), {round: 0, frame: 2});
  assert.deepEqual(stepped({round: 0, frame: 0}, 1, 2, length), {round: 0, frame: 1});
  assert.equal(stepped({round: 0, frame: 0}, -1, 2, length), null);
  assert.equal(stepped({round: 1, frame: 1}, 1, 2, length), null);
});

test('a frame is one that there is; a pin goes with its round, and where its node is not there yet', () => {
  assert.equal(changed(START, {frame: 1e6}, round).frame, 2);
  assert.equal(changed(START, {frame: -1}, round).frame, 0);
  const pinned = changed({...START, frame: 2}, {pin: 2, hover: 1}, round);
  assert.deepEqual([pinned.pin, pinned.hover], [2, 1]);
  assert.equal(changed(pinned, {frame: 1}, round).pin, null);
  const next = changed(pinned, {round: 1, frame: 0}, round);
  assert.deepEqual([next.pin, next.hover], [null, null]);
  assert.equal(changed(pinned, {round: 1, frame: 0, pin: 1}, round).pin, 1);
});

test('what was stays as it was: a new state is another object', () => {
  const before = {...START};
  changed(before, {frame: 1}, round);
  assert.deepEqual(before, START);
  assert.equal(changed(before, {lang: 'zh'}, null).lang, 'zh');
});
