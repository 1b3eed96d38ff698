import assert from 'node:assert/strict';
import test, {beforeEach} from 'node:test';
import {readRun} from '../../assets/view/host/runs.js';

// A server that answers as `plan` says: each answer is a status, how it is shown, and pieces of text; null breaks off.
let asked, plan;
beforeEach(() => {
  asked = [];
  globalThis.document = {baseURI: 'http://page.test/below/'};
  globalThis.fetch = async address => {
    asked.push(address);
    const [status, how, ...pieces] = plan.shift();
    const body = new ReadableStream({
      pull(stream) {
        const piece = pieces.shift();
        if (piece === undefined) stream.close();
        else if (piece === null) stream.error(new TypeError('broken off'));
        else stream.enqueue(new TextEncoder().encode(piece));
      },
    });
    return new Response(status === 200 ? body : null, {status, headers: {'Treeviz-Run': how}});
  };
});
const read = async () => {
  const told = [];
  await readRun('live/a b', (text, how) => told.push([text, how]), new AbortController().signal);
  return told;
};

test('a run that is there is told once, whole', async () => {
  plan = [[200, 'here', 'one\ntw', 'o\n', 'three\n']];
  assert.deepEqual(await read(), [['one\ntwo\nthree\n', 'here']]);
  assert.deepEqual(asked, ['http://page.test/below/treeviz/runs/live/a%20b?from=0']);
});

test('one that grows is told by whole lines, and to its end', async () => {
  plan = [[200, 'grows', 'one\ntw', 'o\n']];
  const told = await read();
  assert.deepEqual(told[0], ['one\n', 'grows']);
  assert.deepEqual(told.at(-1), ['one\ntwo\n', 'grows']);
});

test('where the connection breaks, it goes on behind the last whole line', async () => {
  plan = [
    [200, 'grows', 'one\ntwo\nthr', null],
    [200, 'grows', 'three\n'],
  ];
  const told = await read();
  assert.deepEqual(told.at(-1), ['one\ntwo\nthree\n', 'grows']);
  assert.deepEqual(asked.map(address => address.split('=')[1]), ['0', '2']);
});

test('a run that is not kept any more is not asked for again', async () => {
  plan = [[404, 'here']];
  await assert.rejects(read(), error => error.gone === true);
  assert.equal(asked.length, 1);
});
