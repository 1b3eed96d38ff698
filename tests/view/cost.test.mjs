import assert from 'node:assert/strict';
import test, {beforeEach} from 'node:test';
import {askCost, costs} from '../../assets/view/host/cost.js';

// A server that answers the question with `given`, and then says `pieces`, as they come over the line.
let asked, given, pieces;
beforeEach(() => {
  asked = [];
  given = {event_id: 'e1'};
  globalThis.document = {baseURI: 'http://page.test/below/'};
  globalThis.fetch = async (address, {method, body}) => {
    asked.push([String(address), body && JSON.parse(body)]);
    if (method === 'POST') return Response.json(given);
    const rest = pieces.map(piece => new TextEncoder().encode(piece));
    return new Response(
      new ReadableStream({
        pull: stream => (rest.length ? stream.enqueue(rest.shift()) : stream.close()),
      }),
    );
  };
});
const wish = {pair: 'storybook', language: 'en', seconds: 3};

test('it tells how far it is, and gives the curve', async () => {
  pieces = ['event: generating\ndata: [{"share": 0.5, "sa', 'id": "half"}]\n\nevent: heartbeat\ndata: null\n\n'];
  pieces.push('data: [{"share": 1, "said": "done", "cost": {"pair": "storybook"}}]\n\n');
  const told = [];
  const found = await askCost(wish, (...how) => told.push(how), new AbortController().signal);
  assert.deepEqual(found, {pair: 'storybook'});
  assert.deepEqual(told, [
    [0.5, 'half'],
    [1, 'done'],
  ]);
  assert.deepEqual(asked, [
    ['http://page.test/below/gradio_api/call/v2/cost', wish],
    ['http://page.test/below/gradio_api/call/cost/e1', undefined],
  ]);
});

test('a refusal is the sentence of the server', async () => {
  pieces = ['event: error\ndata: {"error": "Only recorded runs here."}\n\n'];
  await assert.rejects(askCost(wish, () => {}), {message: 'Only recorded runs here.'});
  given = {error: 'Too much.'};
  await assert.rejects(askCost(wish, () => {}), {message: 'Too much.'});
});

test('a stream that ends early is no curve', async () => {
  pieces = ['data: [{"share": 0.5, "said": "half"}]\n\n'];
  await assert.rejects(askCost(wish, () => {}));
});

test('only a server that has the endpoint is asked', () => {
  assert.equal(costs(), false);
  globalThis.gradio_config = {dependencies: [{api_name: 'decode'}, {api_name: 'cost'}]};
  assert.equal(costs(), true);
});
