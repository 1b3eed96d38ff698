import assert from 'node:assert/strict';
import test from 'node:test';
import {parsed, spelled} from '../../assets/view/address.js';
import {FRAMES, OPENS, STATES} from '../../assets/view/frames.js';
import {Life} from '../../assets/view/life.js';
import {KEPT, START} from '../../assets/view/state.js';

test('a link says what is seen, and is read as it was spelled', () => {
  assert.equal(spelled('', START), '#round=1&frame=1');
  const state = {...START, round: 4, frame: 2, pin: 0, panel: 'rows', order: 'tree', lang: 'zh', down: true};
  Object.assign(state, {present: true, look: 'why', only: '8'});
  const link = spelled('a run & more', state);
  const said =
    '#run=a+run+%26+more&round=5&frame=3&pin=0&panel=rows&order=tree&lang=zh&down=1&present=1&view=why&only=8';
  assert.equal(link, said);
  const {run, round, frame, ...rest} = parsed(link);
  assert.deepEqual([run, round, frame], ['a run & more', 5, 3]);
  assert.deepEqual({...state, ...rest}, state);
  for (const name of KEPT) assert.notEqual(spelled('', {...START, [name]: state[name]}), spelled('', START), name);
});

test('what a link does not say is nothing, and what is no number neither', () => {
  const place = {run: null, round: null, frame: null, pin: null},
    nothing = {...place, panel: null, order: 'row', lang: null, look: 'round', only: null};
  assert.deepEqual(parsed(''), {...nothing, down: false, present: false});
  assert.deepEqual(parsed('#round=-1&frame=x&pin=1e3&order=else'), {...nothing, down: false, present: false});
});

test('what is known of a round grows from frame to frame', () => {
  const stages = Object.values(FRAMES).map(frame => frame.stage);
  assert.deepEqual(
    stages,
    [...stages].sort((a, b) => a - b),
  );
  assert.ok(OPENS in FRAMES);
});

test('no two states of a drafted token look alike among the scores', () => {
  const drawn = Object.entries(STATES).filter(([, state]) => state.tone && !state.thin);
  assert.equal(new Set(drawn.map(([, state]) => state.tone)).size, drawn.length);
});

test('what waits in a life is one of a name, and none when it ends', async () => {
  const life = new Life(),
    heard = [];
  const target = new EventTarget();
  life.on(target, 'said', () => heard.push('said'));
  life.later('a', () => heard.push('first'), 1);
  life.later('a', () => heard.push('second'), 1);
  life.later('b', () => heard.push('stopped'), 1);
  life.stop('b');
  await new Promise(done => setTimeout(done, 20));
  target.dispatchEvent(new Event('said'));
  assert.deepEqual(heard, ['second', 'said']);
  let looking = true;
  const observer = {observe: () => {}, disconnect: () => (looking = false)};
  life.observe(observer, target);
  life.later('c', () => heard.push('too late'), 1);
  life.end();
  life.later('d', () => heard.push('never'), 1);
  target.dispatchEvent(new Event('said'));
  await new Promise(done => setTimeout(done, 20));
  assert.deepEqual([heard, looking], [['second', 'said'], false]);
});
