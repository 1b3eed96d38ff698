// What setting would have been the fastest on this run: tokens per round by what-if, seconds of a round by a cost.

import {candidateCount} from './whatif.js';

// Tokens/s of a setting, at least and at most: over the recorded starts of rounds, so an estimate for the run.
export const speedOf = (what, cost, {topK, depth, totalTokens}) => {
  const seconds = cost.round(topK, depth, totalTokens);
  return what.at(topK, depth, totalTokens).tau.map(tau => tau / seconds);
};

// Numbers of nodes kept that are worth asking: all up to 14, then some ten of each doubling.
export const totals = most => {
  const found = [];
  for (let n = 1; n <= most; n = Math.max(n + 1, Math.round(n * 1.07))) found.push(n);
  return found.at(-1) === most ? found : [...found, most];
};

// The shapes of the grid, [top_k, depth], the recorded one first.
export const shapes = ({topK, depth}) => {
  const down = (from, to) => Array.from({length: from - to + 1}, (_, i) => from - i),
    widths = topK > 16 ? [topK, 16, 12, 10, 8, 6, 4, 3, 2, 1] : down(topK, 1);
  return widths.flatMap(k => down(depth, 0).map(d => [k, d]));
};

// The best of one shape by what is sure, of no more nodes than were kept: {topK, depth, totalTokens, speed, tau}.
export const bestOf = (what, cost, [topK, depth]) => {
  let best = null;
  for (const totalTokens of totals(Math.min(what.totalTokens, candidateCount(topK, depth)))) {
    const {tau} = what.at(topK, depth, totalTokens),
      speed = tau[0] / cost.round(topK, depth, totalTokens);
    if (!best || speed > best.speed) best = {topK, depth, totalTokens, speed, tau: tau[0]};
  }
  return best;
};
