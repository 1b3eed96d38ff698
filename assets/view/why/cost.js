// What a pass costs by its rows, and what a round costs by that: a document of `core cost`, or what a run's own clock
// tells of it. Every curve has columns `rows`, ascending, and `seconds`.

import {plainPass} from './clock.js';
import {mean} from './run.js';

// Seconds of a pass of so many rows: on the line between the two measured around it, or the last two.
export const secondsAt = ({rows: x, seconds: y}, rows) => {
  if (x.length === 1 || rows <= x[0]) return y[0];
  const found = x.findIndex(measured => measured >= rows),
    right = found < 0 ? x.length - 1 : found,
    left = right - 1;
  return y[left] + ((y[right] - y[left]) * (rows - x[left])) / (x[right] - x[left]);
};

export class Cost {
  // parts: {verify, head, rest} and what stands beside them; measured: by `core cost`, not from a run's own clock.
  constructor(parts, measured) {
    Object.assign(this, parts);
    this.measured = measured;
  }

  // Seconds of a round of eagle2: the head reads the root, then depth times the beam.
  round(topK, depth, totalTokens) {
    const rows = totalTokens + 1,
      head = secondsAt(this.head, 1) + depth * secondsAt(this.head, topK);
    return head + secondsAt(this.verify, rows) + secondsAt(this.rest, rows);
  }

  // Seconds of a token of plain decoding.
  get plain() {
    return secondsAt(this.verify, 1) + secondsAt(this.rest, 1);
  }

  // How many passes over one row a pass over so many rows costs.
  worth(rows) {
    return secondsAt(this.verify, rows) / secondsAt(this.verify, 1);
  }

  // The most rows, of those in sight, whose pass costs at most `times` one of a single row.
  plateau(times = 1.25) {
    const {rows} = this.verify;
    return rows.findLast((_, i) => rows.slice(0, i + 1).every(each => this.worth(each) <= times));
  }
}

export const costOfDocument = parts => new Cost(parts, true);

// By a run's own clock: a row by the plain decoding that it was compared with, its trees by their own seconds, a line
// between. null where it was not compared, or drafts nothing.
export const costOfRun = run => {
  const plain = plainPass(run),
    rounds = run.rounds.filter(r => r.tree.candidate.length > 1);
  if (plain === null || !rounds.length) return null;
  const spent = (...parts) => mean(rounds.map(({seconds}) => parts.reduce((all, part) => all + seconds[part], 0))),
    passes = mean(rounds.map(r => r.layers.reduce((all, layer) => all + layer.passes, 0))),
    rows = [1, Math.max(...rounds.map(r => r.tree.candidate.length))],
    line = (places, seconds) => ({rows: places, seconds});
  const verify = line(rows, [plain, spent('verify')]),
    head = line([1], [spent('draft') / passes]);
  return new Cost({verify, head, rest: line(rows, [0, spent('tree', 'accept', 'commit')])}, false);
};
