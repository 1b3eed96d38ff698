// Where each round was lost: why the token that the target wanted next was not among the kept.

import {byScore, decided} from './run.js';

// In the order in which a round is asked
export const REASONS = [
  'ended', // the run ended here: nothing more was wanted
  'undrafted', // nothing was drafted
  'cut', // scored, and cut by the re-rank
  'unread', // kept, but the target's numbers there were not finite
  'unscored', // its parent was fed to the head, and it was not among the children
  'depth', // its parent is of the last layer: the tree ends there
  'unexpanded', // its parent was not fed to the head
];

// One of every round, in order. `after` is the candidate id of the last accepted node (0: the root), `wanted` the token
// that the target said there, `candidate` its id where the head scored it (0: it did not). Of that one `rank` is its
// place among all candidates by score, from 1, `score` its own and `cutoff` the worst that was kept.
export const losses = ({rounds, output}) => {
  let out = 1; // the first root is out before any round
  return rounds.map((r, i) => {
    const left = output ? output.token_ids.length - out : Infinity;
    out += decided(r).length;
    return {...loss(r, left <= r.accept.length), round: i};
  });
};

const loss = (r, ended) => {
  const {token, parent, layer, score} = r.candidates,
    after = r.tree.candidate[r.accept.bonus_from],
    wanted = r.accept.bonus,
    found = reason => ({reason, after, wanted, candidate: 0, rank: null, score: null, cutoff: null});
  if (ended) return found('ended');
  if (!token.length) return found('undrafted');
  const candidate = parent.findIndex((of, i) => of === after && token[i] === wanted) + 1;
  if (candidate) {
    const rank = byScore(score).indexOf(candidate - 1) + 1;
    const reason = r.tree.candidate.includes(candidate) ? 'unread' : 'cut';
    return {...found(reason), candidate, rank, score: score[candidate - 1], cutoff: r.tree.cutoff};
  }
  if (r.layers.some(({expanded}) => expanded.includes(after))) return found('unscored');
  return found(after && layer[after - 1] === r.layers.length - 1 ? 'depth' : 'unexpanded');
};

// [reason, rounds that ended so], those that occur, the most frequent first.
export const counts = found =>
  REASONS.map(reason => [reason, found.filter(each => each.reason === reason).length])
    .filter(([, n]) => n)
    .sort((a, b) => b[1] - a[1]);
