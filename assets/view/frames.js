// The two tables of the walkthrough: what a frame of each kind shows, and how a node in each state is marked. The
// other side has the same kinds and letters (`treeviz/story/frames.py`); a test compares them.

// How far a round is: what is known of it grows from one to the next.
export const DRAFTING = 0,
  RANKED = 1,
  ROWS = 2,
  VERIFIED = 3,
  DECIDED = 4;

// unit: what the number in a box is (words: `unit`); panel: the one that is shown unless the person has chosen another.
export const FRAMES = {
  root: {unit: 'p', panel: 'scores', stage: DRAFTING},
  expand: {unit: 'p', panel: 'scores', stage: DRAFTING},
  select: {unit: 'score', panel: 'scores', stage: DRAFTING},
  rerank: {unit: 'score', panel: 'scores', stage: RANKED},
  flatten: {unit: 'row', panel: 'mask', stage: ROWS},
  verify: {unit: 'choice', panel: 'mask', stage: VERIFIED},
  accept: {unit: 'target', panel: 'mask', stage: DECIDED},
  commit: {unit: 'row', panel: 'cache', stage: DECIDED},
};

// By letter, in the order of the legend; ABSENT is a node that does not exist yet.
export const ABSENT = '.';
export const STATES = {
  R: {glyph: ''},
  s: {glyph: ''},
  e: {glyph: '▸'},
  k: {glyph: ''},
  p: {glyph: ''},
  a: {glyph: '✓'},
  x: {glyph: '✕'},
  b: {glyph: '+'},
};
