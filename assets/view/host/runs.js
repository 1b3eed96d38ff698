// Where a run comes from: the server, as it grows. A connection that breaks is taken up where it broke.

// Tells what there is, but not so often that it keeps the browser busy: each time, the view looks at all of it.
export const telling = told => {
  let waiting = null,
    due = 0,
    last;
  const tell = () => {
    clearTimeout(waiting);
    waiting = null;
    const started = performance.now();
    told(last);
    due = 3 * performance.now() - 2 * started + 30;
  };
  const hear = text => {
    last = text;
    if (performance.now() >= due) tell();
    else waiting ??= setTimeout(tell, due - performance.now());
  };
  return {
    hear,
    now: () => {
      if (waiting !== null) tell();
    },
    stop: () => clearTimeout(waiting),
  };
};

// Reads a run to its end; `told` hears all of its lines so far, as there are more, and how the server says to show
// it. Of one that is there it hears once, so that the view opens it where a link says.
export const readRun = async (name, told, signal) => {
  let how = 'here';
  const teller = telling(text => told(text, how));
  signal.addEventListener('abort', teller.stop);
  const runs = new URL('treeviz/runs/', document.baseURI);
  const address = `${runs}${name.split('/').map(encodeURIComponent).join('/')}?from=`;
  let text = '',
    lines = 0;
  for (let tries = 0; ; tries++) {
    try {
      const answer = await fetch(address + lines, {signal});
      if (!answer.ok) throw Object.assign(new Error(answer.statusText), {gone: answer.status === 404});
      how = answer.headers.get('Treeviz-Run');
      const pieces = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ''; ;) {
        const {value, done} = await pieces.read();
        if (done) {
          teller.hear(text);
          teller.now();
          return;
        }
        const end = value.lastIndexOf('\n') + 1;
        if (end) {
          const whole = rest + value.slice(0, end);
          text += whole;
          lines += whole.split('\n').length - 1;
          rest = '';
          tries = 0;
          if (how !== 'here') teller.hear(text);
        }
        rest += value.slice(end);
      }
    } catch (error) {
      if (error.name === 'AbortError' || error.gone || tries === 6) throw error;
      await new Promise(resolve => setTimeout(resolve, 250 * 2 ** tries));
      if (signal.aborted) return;
    }
  }
};
