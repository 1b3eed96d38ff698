// Gradio as the host of a view: its value is a run's lines, or a reference to a run on the server, which is read from
// there as it grows; its events are `select` (another run is asked for), `language` and `retry`.

import {Shell} from '../shell.js';
import {readRun} from './runs.js';
import {watchUploads} from './upload.js';

const wordsOf = async code => {
  const answer = await fetch(new URL(`../../words/${code}.json`, import.meta.url));
  return [code, await answer.json()];
};

export const mount = async (element, props, watch, trigger, languages) => {
  const words = Object.fromEntries(await Promise.all(languages.map(wordsOf)));
  const shell = new Shell(element.querySelector('.tv-mount'), words, trigger),
    {view} = shell;
  watchUploads(shell);
  let reading = null;
  const show = value => {
    reading?.abort();
    reading = null;
    if (typeof value !== 'string' || !value.startsWith('run:')) {
      view.read(value);
      return;
    }
    reading = new AbortController();
    readRun(value.slice(4), (text, how) => view.read(text, how !== 'comes'), reading.signal).catch(error => {
      if (error.name !== 'AbortError') shell.toast(shell.say(error.gone ? 'runGone' : 'runLost'));
    });
  };
  watch('value', () => show(props.value));
  show(props.value);
  if (view.state.lang !== 'en') shell.speak();
};
