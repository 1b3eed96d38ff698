// The two tables of the walkthrough: what a frame of each kind shows, and how a node in each state is marked. The
// other side has the same kinds and letters (`treeviz/story/frames.py`); a test compares them.

// How far a round is: what is known of it grows from one to the next.
export const DRAFTING = 0,
  RANKED = 1,
  ROWS = 2,
  VERIFIED = 3,
  DECIDED = 4;

// unit: what the number in a box is (words: `unit`); panel: the one that is shown unless the person has chosen another,
// and sampled: the one where there were draws; stage: what is known by then.
export const FRAMES = {
  root: {unit: 'p', panel: 'scores', stage: DRAFTING},
  expand: {unit: 'p', panel: 'scores', stage: DRAFTING},
  select: {unit: 'score', panel: 'scores', stage: DRAFTING},
  rerank: {unit: 'score', panel: 'scores', stage: RANKED},
  flatten: {unit: 'row', panel: 'mask', stage: ROWS},
  verify: {unit: 'choice', panel: 'mask', stage: VERIFIED},
  accept: {unit: 'target', panel: 'mask', sampled: 'draws', stage: DECIDED},
  commit: {unit: 'row', panel: 'cache', stage: DECIDED},
};

export const OPENS = 'accept'; // what one comes to: in a run that opens, in a round that is named

// By letter, in the order of the legend. glyph: before a token; tone: the colour of its dot among the scores, which is
// small where it is thin. ABSENT is a node that does not exist yet.
export const ABSENT = '.';
export const STATES = {
  R: {glyph: ''},
  s: {glyph: '', tone: 'soft', thin: true},
  e: {glyph: '▸', tone: 'purple'},
  k: {glyph: '', tone: 'blue'},
  p: {glyph: '', tone: 'soft', thin: true},
  a: {glyph: '✓', tone: 'green'},
  x: {glyph: '✕', tone: 'verm'},
  b: {glyph: '+'},
};
