// What if a greedy run of eagle2 had drafted another tree? Which candidates would have been kept, and how far the
// target would have gone along them, from the recorded candidates and the run's own text.
//
// A smaller depth and any total_tokens are exact. So is a smaller top_k while its beam takes what the recorded one
// took. Where it would have fed a candidate that was not fed, that one's children are not known: ghosts. A ghost scores
// at most its parent's score, the j-th likeliest of a family at most that minus log j. Then an answer is a bound from
// both sides: `low` what every possible tree accepts, `high` what none exceeds. So it is where the text ends, too.

import {byScore, pathOf, tauOf, wanted} from './run.js';

const NEVER = Infinity; // a total_tokens with which nothing more is kept

export const candidateCount = (topK, depth) => topK + depth * topK ** 2;

// Can this run be asked?
export const askable = ({config, rounds}) => config.policy === 'eagle2' && !config.temperature && rounds.length > 0;

export class WhatIf {
  constructor({config, rounds}) {
    this.topK = config.top_k;
    this.depth = config.depth;
    this.totalTokens = config.total_tokens;
    const tokens = wanted(rounds);
    this.rounds = rounds.map((r, i) => new Columns(r, tokens[i]));
    this.known = new Map();
  }

  // Every round under a top_k and a depth that are not above the recorded ones.
  outlooks(topK = this.topK, depth = this.depth) {
    const key = `${topK} ${depth}`;
    let found = this.known.get(key);
    if (!found) {
      found = this.rounds.map(columns => columns.outlook(topK, depth));
      if (this.known.size > 5) this.known.delete(this.known.keys().next().value); // of a long run each is large
      this.known.set(key, found);
    }
    return found;
  }

  // What every round would have accepted, at least and at most, and tau over these starts: an estimate for the run,
  // which would have started other rounds. Where there are fewer candidates than total_tokens, all are kept.
  at(topK = this.topK, depth = this.depth, totalTokens = this.totalTokens) {
    const both = this.outlooks(topK, depth).map(outlook => outlook.accepted(totalTokens)),
      low = both.map(([least]) => least),
      high = both.map(([, most]) => most);
    return {low, high, tau: [tauOf(low), tauOf(high)], exact: low.every((n, i) => n === high[i])};
  }
}

// A round under another top_k and depth, for every total_tokens.
//   path     ids of the candidates that carry the target's own tokens, as far as they may be scored
//   maybe    of each: from which total_tokens on it may be kept
//   surely   of each: from which on it is kept in any case; the same number where nothing is unknown
//   deepest  drafted tokens that may be accepted where what follows the path is not known; else the path's length
//   ghosts   ids of the candidates that would or might have been fed, and were not
//   needs    [maybe, surely] of every candidate
class Outlook {
  constructor(parts) {
    Object.assign(this, parts);
  }

  // Accepted length with so many nodes kept: at least, at most.
  accepted(totalTokens) {
    const within = needs => needs.filter(need => need <= totalTokens).length, // a child's need is above its parent's
      low = within(this.surely);
    let high = within(this.maybe);
    if (high === this.path.length) {
      const left = totalTokens - (this.maybe.at(-1) ?? 0); // a node further down takes one more of the nodes kept
      high = Math.min(this.deepest, high + left);
    }
    return [low, high];
  }

  // Candidate ids, ascending: those that are kept in any case, and those that are or ghosts in their place.
  kept(totalTokens) {
    const [maybe, surely] = this.needs,
      ids = test => Array.from(maybe.keys(), place => place + 1).filter(id => test(id - 1)),
      sure = place => surely[place] <= totalTokens;
    return [ids(sure), ids(place => maybe[place] <= totalTokens && !sure(place))];
  }
}

// A round's candidates as columns, places from 0, and what of them is the target's path.
class Columns {
  constructor(r, tokens) {
    const {parent, layer, score} = r.candidates;
    Object.assign(this, {parent, layer, score, tokens});
    const families = new Map(); // created together, likeliest first
    this.nth = parent.map(of => {
      const n = families.get(of) ?? 0;
      families.set(of, n + 1);
      return n;
    });
    this.order = byScore(score);
    this.layers = r.layers.map((_, i) => this.order.filter(place => layer[place] === i));
    this.fed = new Set(r.layers.flatMap(({expanded}) => expanded));
    this.topK = this.layers[0].length;
    this.path = pathOf(r, tokens);
  }

  outlook(topK, depth) {
    const all = this.layer.map(layer => layer <= depth),
      {sure, may, ghosts, unfed} =
        topK === this.topK ? {sure: all, may: all, ghosts: [], unfed: []} : this.grow(topK, depth),
      maybe = this.layer.map(() => NEVER),
      surely = this.layer.map(() => NEVER);
    let sureBefore = 0,
      mayBefore = 0;
    for (const place of this.order) {
      if (may[place]) maybe[place] = 1 + sureBefore;
      if (sure[place]) surely[place] = 1 + mayBefore + atLeast(ghosts, this.score[place]);
      sureBefore += sure[place];
      mayBefore += may[place];
    }
    const path = this.path.filter(id => may[id - 1]);
    return new Outlook({
      path,
      maybe: path.map(id => maybe[id - 1]),
      surely: path.map(id => surely[id - 1]),
      deepest: this.deepest(path.length, unfed, depth),
      ghosts: unfed,
      needs: [maybe, surely],
    });
  }

  // How far it may go behind the first `length` of the path.
  deepest(length, unfed, depth) {
    const last = length ? this.path[length - 1] : 0;
    return length === this.tokens.length || unfed.includes(last) ? depth + 1 : length; // all that was written, or fed
  }

  // The beam anew, layer by layer -> which candidates are scored in any case, and which may be; the best scores that
  // ghosts may have, descending; ids of the candidates that are or may be fed and were not.
  grow(topK, depth) {
    const sure = this.layer.map((layer, place) => layer === 0 && this.nth[place] < topK),
      may = [...sure],
      ghosts = [],
      unfed = [];
    let newest = [];
    for (let layer = 1; layer <= depth; layer++) {
      const beam = this.beam(this.layers[layer - 1], sure, may, newest, topK);
      unfed.push(...beam.unknown.map(place => place + 1));
      newest = familiesOf([...beam.unknown.map(place => this.score[place]), ...beam.dark], topK);
      ghosts.push(...newest);
      for (const place of this.layers[layer]) {
        const near = this.nth[place] < topK,
          parent = this.parent[place] - 1;
        sure[place] = near && beam.feeds.has(parent);
        may[place] = near && beam.might.has(parent);
      }
    }
    return {sure, may, ghosts: ghosts.sort(descending), unfed};
  }

  // What of a layer (places, best first) is fed in any case, and what may be; what of it was not; and the ghosts that
  // may be: fewer than top_k are better in any case.
  beam(here, sure, may, newest, topK) {
    const feeds = new Set(),
      might = new Set(),
      scores = [];
    let mayBefore = 0;
    for (const place of here) {
      if (sure[place] && mayBefore + atLeast(newest, this.score[place]) < topK) feeds.add(place);
      if (may[place] && scores.length < topK) might.add(place);
      if (sure[place]) scores.push(this.score[place]);
      mayBefore += may[place];
    }
    const unknown = here.filter(place => might.has(place) && !this.fed.has(place + 1)),
      dark = newest.filter(bound => above(scores, bound) < topK);
    return {feeds, might, unknown, dark};
  }
}

const descending = (a, b) => b - a;

// The most that the children of the top_k best of these parents can score.
const familiesOf = (parents, topK) =>
  parents
    .sort(descending)
    .slice(0, topK)
    .flatMap(score => Array.from({length: topK}, (_, i) => score - Math.log(i + 1)))
    .sort(descending);

// How many of these, descending, are not below x; how many are above it.
const atLeast = (numbers, x) => upTo(numbers, each => each < x);
const above = (numbers, x) => upTo(numbers, each => each <= x);
const upTo = (numbers, ends) => {
  let low = 0,
    high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends(numbers[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
};
