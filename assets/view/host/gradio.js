// Gradio as the host of a view: its value is a run's lines, or a reference to a run on the server, which is read from
// there as it grows; its events are `select` (another run is asked for), `language` and `retry`.

import {Shell} from '../shell.js';
import {gradioAround} from './around.js';
import {askCost, costs} from './cost.js';
import {readRun} from './runs.js';
import {watchUploads} from './upload.js';

export const mount = (element, props, watch, trigger, words) => {
  const host = {ask: trigger, around: gradioAround, cost: costs() ? askCost : null};
  const shell = new Shell(element.querySelector('.tv-mount'), words, host);
  const {view, life} = shell;
  watchUploads(shell);
  let reading = null;
  const show = value => {
    reading?.abort();
    reading = null;
    if (life.signal.aborted) return;
    if (typeof value !== 'string' || !value.startsWith('run:')) {
      view.read(value);
      return;
    }
    reading = new AbortController();
    readRun(value.slice(4), (text, how) => view.read(text, how !== 'comes'), reading.signal).catch(error => {
      if (error.name !== 'AbortError') shell.toast(shell.say(error.gone ? 'runGone' : 'runLost'));
    });
  };
  life.signal.addEventListener('abort', () => reading?.abort());
  watch('value', () => show(props.value));
  show(props.value);
};
