// Where one is in a run, as plain values: what changes with what, and what a step leads to. Knows no element.

import {ABSENT} from './frames.js';

export const START = {
  round: 0,
  frame: 0,
  pin: null,
  hover: null,
  panel: null,
  order: 'row',
  lang: 'en',
  playing: false,
  speed: 1,
  down: false,
  present: false,
  look: 'round',
  only: null,
};

// What a link holds.
export const KEPT = ['round', 'frame', 'pin', 'panel', 'order', 'lang', 'down', 'present', 'look', 'only'];

// The state after `changes`, made possible: `round(i)` gives a round's model, null where there is none yet.
export const changed = (old, changes, round) => {
  const s = {...old, ...changes};
  if (!round) return s;
  const m = round(s.round);
  s.frame = Math.max(0, Math.min(s.frame, m.frames.length - 1));
  if (s.round !== old.round) {
    s.hover = null;
    if (!('pin' in changes)) s.pin = null;
  }
  if (s.pin !== null && m.state(s.frame, s.pin) === ABSENT) s.pin = null;
  return s;
};

// {round, frame} a step before or behind, across rounds; null at either end. frames(i): how many round i has.
export const stepped = ({round, frame}, by, rounds, frames) => {
  frame += by;
  if (frame < 0 && round > 0) {
    round--;
    frame = frames(round) - 1;
  } else if (frame >= frames(round) && round < rounds - 1) {
    round++;
    frame = 0;
  }
  return frame < 0 || frame >= frames(round) ? null : {round, frame};
};
