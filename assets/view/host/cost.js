// What passes cost on the server's machine: asked of its endpoint `/cost`, which tells how far it is while it measures.

// Is there one to be asked?
export const costs = () =>
  Boolean(globalThis.gradio_config?.dependencies?.some(({api_name: name}) => name === 'cost'));

// The curve of a pair, measured for so many seconds; of 0 seconds the one that is there already, or null. `told` hears
// the share that is done and what is being done; a refusal is an Error with the server's own sentence.
export const askCost = async ({pair, language, seconds}, told, signal) => {
  const address = new URL('gradio_api/call/', document.baseURI),
    headers = {'Content-Type': 'application/json'},
    body = JSON.stringify({pair, language, seconds});
  const asked = await fetch(new URL('v2/cost', address), {method: 'POST', headers, body, signal}),
    {event_id: event, error} = await asked.json();
  if (!event) throw new Error(error ?? asked.statusText);
  const answer = await fetch(new URL(`cost/${event}`, address), {signal});
  let last = null;
  for await (const said of messages(answer.body)) {
    if (said.error) throw new Error(said.error);
    [last] = said;
    told(last.share, last.said);
  }
  if (!last || !('cost' in last)) throw new Error(answer.statusText);
  return last.cost;
};

// What stands behind "data: " on the lines of a stream; a pulse of it is null.
async function* messages(body) {
  const pieces = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ;) {
    const {value, done} = await pieces.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const said = line.startsWith('data: ') && JSON.parse(line.slice(6));
      if (said) yield said;
    }
  }
}
