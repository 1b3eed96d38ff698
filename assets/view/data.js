// The trace as the page holds it: lines are parsed once, rounds are prepared when they are first looked at.

import {ABSENT} from './frames.js';

export class Data {
  constructor() {
    this.reset();
  }

  reset() {
    this.text = '';
    this.header = null;
    this.footer = null;
    this.lines = [];
    this.clock = [];
    this.labels = {};
    this.models = [];
  }

  // Takes the whole string; returns 'new', 'more' or 'same'.
  read(text) {
    text = typeof text === 'string' ? text : '';
    if (text === this.text) return 'same';
    const more = this.text !== '' && text.startsWith(this.text);
    if (!more) this.reset();
    const end = text.lastIndexOf('\n') + 1;
    for (const line of text.slice(this.text.length, end).split('\n')) if (line) this.add(JSON.parse(line));
    this.text = text.slice(0, end);
    return more ? 'more' : 'new';
  }

  add(part) {
    const page = part.page || {};
    Object.assign(this.labels, page.labels);
    if (part.round) this.lines.push(part);
    else if (part.prompt) this.header = part;
    else if (part.output) this.footer = part;
    else if (part.check) this.checked(part);
    if (page.plain) this.clock.push(...page.plain);
  }

  // A comparison made after the run takes the place of what the footer says.
  checked({check, vocabulary}) {
    this.footer = {...this.footer, check, vocabulary: {...this.footer.vocabulary, ...vocabulary}};
  }

  // The moments, in seconds, at which plain decoding of the same run had its tokens, so far; [] where it was not made.
  get plainly() {
    return this.footer?.check.clock.length ? this.footer.check.clock : this.clock;
  }

  get rounds() {
    return this.lines.length;
  }
  label(token) {
    return this.labels[token] ?? `#${token}`;
  }

  round(i) {
    return (this.models[i] ??= new Round(this, this.lines[i]));
  }

  // The trace without what the viewer added, in its JSON-lines spelling.
  plain() {
    const lines = [this.header, ...this.lines, ...(this.footer ? [this.footer] : [])];
    return lines.map(part => JSON.stringify({...part, page: undefined}) + '\n').join('');
  }
}

export class Round {
  constructor(data, part) {
    const r = part.round,
      c = r.candidates;
    this.data = data;
    this.raw = r;
    this.page = part.page;
    this.index = r.index;
    this.count = c.token.length;
    this.bonus = this.count + 1;
    this.tokens = [r.root, ...c.token, r.accept.bonus];
    this.parent = [-1, ...c.parent, r.tree.candidate[r.accept.bonus_from]];
    this.depths = [0];
    for (let id = 1; id <= this.bonus; id++) this.depths[id] = this.depths[this.parent[id]] + 1; // parents come first
    this.cutting = this.count > r.tree.candidate.length - 1; // are any candidates cut?
    this.rowOf = new Map(r.tree.candidate.map((id, row) => [id, row]));
    this.onPath = new Set(r.accept.path.map(row => r.tree.candidate[row]));
    this.place = new Map(this.page.box.map((id, i) => [id, {depth: this.depth(id), y: this.page.y[i]}]));
    this.children = new Map();
    for (let id = 1; id < this.bonus; id++) {
      if (!this.children.has(this.parent[id])) this.children.set(this.parent[id], []);
      this.children.get(this.parent[id]).push(id);
    }
    this.ranked = Array.from({length: this.count}, (_, i) => i + 1).sort(
      (a, b) => c.score[b - 1] - c.score[a - 1] || a - b,
    );
    this.rank = new Map(this.ranked.map((id, i) => [id, i + 1]));
    this.present = [];
    this.states = this.page.frames.map(frame => unpack(frame.states));
    this.bits = r.tree.mask.map(bitsOf);
    this.tests = new Map(r.accept.draws.map(test => [r.tree.candidate[test.node], test]));
  }

  get frames() {
    return this.page.frames;
  }
  // The boxes, every token before what hangs on it: as a tree is read out.
  depthFirst() {
    const children = new Map(),
      order = [],
      waiting = [0];
    for (const id of this.place.keys()) {
      if (!children.has(this.parent[id])) children.set(this.parent[id], []);
      children.get(this.parent[id]).push(id);
    }
    while (waiting.length) {
      const id = waiting.pop();
      order.push(id);
      waiting.push(...(children.get(id) || []).reverse());
    }
    return order;
  }
  label(id) {
    return this.data.label(this.tokens[id]);
  }
  depth(id) {
    return this.depths[id];
  }
  layer(id) {
    return this.raw.candidates.layer[id - 1];
  }
  logProb(id) {
    return this.raw.candidates.log_prob[id - 1];
  }
  score(id) {
    return id ? this.raw.candidates.score[id - 1] : 0;
  }
  state(frame, id) {
    return this.states[frame][id];
  }
  // The candidates that exist in a frame, the best score first.
  there(frame) {
    return (this.present[frame] ??= this.ranked.filter(id => this.state(frame, id) !== ABSENT));
  }
  path(id) {
    const path = [];
    for (; id >= 0; id = this.parent[id]) path.push(id);
    return path.reverse();
  }
  isBox(id) {
    return this.place.has(id);
  }
  candidate(id) {
    return id > 0 && id < this.bonus;
  }
  choice(row) {
    return this.data.label(this.raw.target.argmax[row]);
  }
  // Is this drafted token what the target says after its parent?
  wanted(id) {
    const row = this.rowOf.get(id);
    return row > 0 && this.tokens[id] === this.raw.target.argmax[this.raw.tree.parent[row]];
  }
  sees(row, column) {
    return this.bits[row][column] === 1;
  }
}

// "R.510" -> "R" and 510 dots: one letter per node.
export const unpack = packed => packed.replace(/(.)(\d+)/g, (_, letter, n) => letter.repeat(Number(n)));

export const bitsOf = hex => {
  const bits = new Uint8Array(hex.length * 4);
  for (let i = 0; i < bits.length; i++) bits[i] = (parseInt(hex[i >> 2], 16) >> (3 - (i & 3))) & 1;
  return bits;
};
