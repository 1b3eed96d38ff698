// Going about in a run: step by step, round by round, from token to token. Belongs to View and is mixed into it.

import {ABSENT, OPENS} from './frames.js';
import {stepped} from './state.js';

export const walking = {
  step(by) {
    const next =
      this.model && stepped(this.state, by, this.data.rounds, round => this.data.round(round).frames.length);
    if (next) this.set({...next, hover: null});
    return Boolean(next);
  },

  // To another round, at the same kind of frame.
  toRound(round) {
    if (!this.model || round < 0 || round >= this.data.rounds) return;
    const now = this.frame,
      frames = this.data.round(round).frames;
    const same = frames.findIndex(frame => frame.kind === now.kind && frame.layer === now.layer);
    this.set({round, frame: same < 0 ? frames.findIndex(frame => frame.kind === OPENS) : same, hover: null});
  },

  jump(round, id) {
    const there = this.data.round(round),
      frame = there.frames.findIndex(frame => frame.kind === OPENS);
    this.set({round, frame, pin: id, hover: null, playing: false});
    this.tree.reveal(id);
  },

  tick() {
    const on = () => {
      if (!this.state.playing || !this.ref.root.isConnected) return;
      if (this.step(1)) this.tick();
      else this.set({playing: false});
    };
    this.life.later('play', on, 1700 / this.state.speed);
  },

  // Up and down between siblings and cousins of a layer; with Alt, or from a box, to the parent and the first child.
  walk(key) {
    const m = this.model,
      now = this.here();
    if (now === null) {
      this.goTo(0);
      return;
    }
    const column = [...m.place]
      .filter(
        ([id, p]) => p.depth === m.depth(now) && this.tree.nodes.has(id) && m.state(this.state.frame, id) !== ABSENT,
      )
      .sort(([a], [b]) => this.tree.order(a) - this.tree.order(b))
      .map(([id]) => id);
    this.goTo(column[column.indexOf(now) + (key === 'ArrowUp' ? -1 : 1)] ?? now);
  },

  descend(up) {
    const m = this.model,
      now = this.here() ?? 0;
    const next = up
      ? m.parent[now]
      : [...m.place.keys()].find(id => m.parent[id] === now && m.state(this.state.frame, id) !== ABSENT);
    if (next !== undefined && next >= 0) this.goTo(next);
  },

  // Where the keys walk from: the pinned node, else the one that the keyboard is on.
  here() {
    const on = document.activeElement?.closest('[data-node]');
    return this.state.pin ?? (on && this.ref.tree.contains(on) ? Number(on.dataset.node) : null);
  },

  goTo(id) {
    this.set({pin: id});
    this.tree.reveal(id);
    this.tree.nodes.get(id)?.g.focus({preventScroll: true});
  },
};
