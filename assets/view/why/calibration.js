// Does the head know what it knows? How often the target said what a candidate promised, by its path probability.

import {pathOf, wanted} from './run.js';

const Z = 1.959963984540054; // of 95 %

// Bins over all candidates of some runs, kept or pruned, whose path probability, exp(score), is from `low` to below
// `high` (the last: up to 1): `count` of them, of which the target `said` so many with all that leads to them;
// `promised`, the mean probability, and `share` and `interval` of what was said (null of none). Those that go on behind
// the end of a run's text are left out, for nobody knows what was wanted there.
export const calibration = (runs, bins = 10) => {
  const columns = Array.from({length: bins}, () => ({count: 0, said: 0, promised: 0}));
  for (const {rounds} of runs) {
    const tokens = wanted(rounds);
    rounds.forEach((r, i) => add(columns, r, tokens[i]));
  }
  return columns.map((column, i) => ({low: i / bins, high: (i + 1) / bins, ...shares(column)}));
};

// The bins of several runs as one.
export const together = all =>
  all[0].map(({low, high}, i) => {
    const [count, said, promised] = [bin => bin.count, bin => bin.said, bin => bin.promised * bin.count].map(of =>
      all.reduce((sum, bins) => sum + of(bins[i]), 0),
    );
    return {low, high, ...shares({count, said, promised})};
  });

const shares = ({count, said, promised}) => ({
  count,
  said,
  promised: count ? promised / count : 0,
  share: count ? said / count : null,
  interval: count ? wilson(said, count) : null,
});

const add = (columns, r, tokens) => {
  const path = pathOf(r, tokens),
    said = new Set(path),
    last = path.at(-1) ?? 0,
    behind = new Set(path.length === tokens.length ? [last] : []); // what comes after it was not written
  r.candidates.score.forEach((score, i) => {
    if (behind.has(r.candidates.parent[i])) {
      behind.add(i + 1);
      return;
    }
    const p = Math.exp(score),
      column = columns[Math.min(Math.floor(p * columns.length), columns.length - 1)];
    column.count++;
    column.promised += p;
    if (said.has(i + 1)) column.said++;
  });
};

// Wilson's score interval of a share, hits of count > 0. Candidates of a round hang together, so that of few rounds it
// is too narrow.
export const wilson = (hits, count, z = Z) => {
  const share = hits / count,
    more = (z * z) / count,
    middle = (share + more / 2) / (1 + more),
    half = (z / (1 + more)) * Math.sqrt((share * (1 - share)) / count + more / (4 * count));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
};
