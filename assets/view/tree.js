// The tree in SVG: a box for every node that was kept, expanded or is the bonus; a thin fan for the other candidates.
// Built once per round. A step changes classes and small texts only, so nothing jumps.

import {boxOf} from './box.js';
import {put, svgNode, write} from './dom.js';
import {Fan} from './fan.js';
import {ABSENT, DRAFTING, FRAMES, STATES} from './frames.js';
import {BOX, Place} from './place.js';
import {cellsOf, clip, num, short} from './text.js';
import {zooming} from './zoom.js';

export class Tree {
  constructor(view) {
    this.view = view;
    this.svg = view.ref.tree;
    this.box = view.ref.treebox;
    this.zoom = {k: 1, x: 0, y: 0};
    this.touched = false;
    this.nodes = new Map();
    this.folds = new Set();
    this.unfolded = new Set();
    this.type = 1;
    this.room = {width: 0, height: 0};
    this.svg.setAttribute('role', 'tree');
    this.fan = new Fan(this);
    this.listen();
    this.view.sizes(this.box, () => {
      const {width, height} = this.room;
      this.measure();
      if (!this.room.width || !this.model || (width === this.room.width && height === this.room.height)) return;
      this.round(this.model); // columns follow the width
      if (this.view.model === this.model) this.view.draw('frame');
    });
  }

  // Sizes are asked for when they may have changed, not in every step: the browser would have to lay out to answer.
  measure() {
    this.room = {width: this.box.clientWidth, height: this.box.clientHeight};
  }

  // -- build -----------------------------------------------------------------------------------------------------

  round(m, room = null) {
    if (this.model !== m) for (const ids of [this.folds, this.unfolded]) ids.clear();
    this.model = m;
    this.nodes.clear();
    if (room) this.room = room;
    else this.measure();
    this.path = new Set();
    this.marked = [null, null];
    this.svg.classList.remove('focused');
    this.world = svgNode('g', {class: 'world', role: 'presentation'});
    this.fan.close();
    const fans = svgNode('g', {class: 'fans', 'aria-hidden': true}),
      edges = svgNode('g', {class: 'edges', 'aria-hidden': true}),
      boxes = svgNode('g', {class: 'boxes', role: 'presentation'});
    this.map = new Place(m, this.view.state.down, this.room.width - 8, this.room.height - 8, {
      keep: this.kept(m),
      folds: this.folds,
      only: this.only(m),
      type: this.type,
    });
    this.svg.style.setProperty('--u', this.map.u);
    for (const id of m.depthFirst().filter(id => this.map.has(id))) {
      const b = this.at(id),
        g = svgNode('g', {
          class: 'n',
          'data-node': id,
          role: 'treeitem',
          tabindex: id ? -1 : 0,
          'aria-level': m.depth(id) + 1,
        });
      const share = b.shared && m.candidate(id) ? Math.exp(m.logProb(id)) : null,
        {rect, text, side, bar} = boxOf(b, this.map.u, ' ', ' ', share);
      g.append(rect, text, side);
      if (bar) g.append(bar);
      boxes.append(g);
      let edge = null;
      if (id && !this.map.beside.has(id))
        edges.append((edge = svgNode('path', {class: 'e', d: this.map.curve(m.parent[id], id)})));
      this.nodes.set(id, {g, text, side, edge, width: b.w, shared: b.shared, bare: b.shared || b.bare});
    }
    this.fans = [];
    for (const [parent, children] of m.children) {
      const thin = children.filter(id => !m.isBox(id));
      if (thin.length && this.map.has(parent)) {
        const g = svgNode('path', {class: 'fan', 'data-fan': parent, d: this.map.fan(parent, thin)});
        fans.append(g);
        this.fans.push({g, layer: m.layer(thin[0])});
      }
    }
    this.world.append(fans, edges, boxes);
    if (!this.touched || !this.fitted) this.fit();
    else this.apply();
  }

  // What a round is about is never shared or folded: the path, what was rejected beside it, the bonus, what is pinned.
  kept(m) {
    const last = m.frames.length - 1,
      {pin} = this.view.state,
      about = [...m.place.keys()].filter(id => 'axb'.includes(m.state(last, id)));
    return new Set([
      0,
      m.bonus,
      ...about,
      ...m.path(m.bonus),
      ...[...this.unfolded, ...(pin === null ? [] : [pin])].flatMap(id => m.path(id)),
    ]);
  }

  // The boxes that the reader asks for, null for all: those that were kept, or the best few of them.
  only(m) {
    const {only, pin} = this.view.state;
    if (!only) return null;
    const kept = m.ranked.filter(id => m.rowOf.has(id)),
      some = only === 'kept' ? kept : kept.slice(0, Number(only));
    return new Set(
      [0, ...this.kept(m), ...some.flatMap(id => m.path(id)), ...(pin === null ? [] : m.path(pin))].filter(id =>
        m.isBox(id),
      ),
    );
  }

  // Folds a branch into its first word, or opens it again.
  fold(id) {
    if (!this.model?.isBox(id)) return;
    const closed = this.folds.has(id) || this.map.folded.has(id);
    this.folds[closed ? 'delete' : 'add'](id);
    this.unfolded[closed ? 'add' : 'delete'](id); // also what was folded for want of room
    this.again();
  }

  again() {
    this.round(this.model);
    this.view.draw('frame');
  }

  get size() {
    return this.map?.size;
  }
  at(id) {
    return this.map.at(id);
  }

  // What comes before what, from the top down and along a line.
  order(id) {
    const {x, y} = this.at(id);
    return this.map.down ? x : 1e5 * y + x;
  }

  // -- a step ----------------------------------------------------------------------------------------------------

  frame(m, i) {
    const frame = m.frames[i],
      focus = new Set(frame.focus),
      all = frame.focus.length > m.place.size / 2;
    const drafting = FRAMES[frame.kind].stage === DRAFTING;
    // first what asks the browser for sizes, then what changes them: the other way round it lays out twice
    this.settle(m, i);
    put(this.svg, 'aria-label', `${this.view.say('tree')}, ${this.view.say('round')} ${m.index + 1}`);
    this.svg.classList.toggle('committed', frame.kind === 'commit');
    for (const [id, node] of this.nodes) {
      const state = m.state(i, id),
        hidden = state === ABSENT,
        look = hidden ? 'none' : state,
        lit = !all && focus.has(id);
      const hit = frame.kind === 'verify' && m.wanted(id) ? ' hit' : '';
      const dress = `s-${look}${lit ? ' lit' : ''}`,
        line = `e s-${look}${lit && drafting ? ' lit' : ''}${hit}`;
      if (node.dress !== dress) {
        node.dress = dress;
        node.g.setAttribute('class', `n ${dress}${this.marks(id)}`);
        node.g.setAttribute('aria-hidden', hidden);
      }
      if (node.edge && node.line !== line) {
        node.line = line;
        node.edge.setAttribute('class', line + (this.path.has(id) ? ' on' : ''));
      }
      if (hidden) continue;
      const glyph = STATES[state].glyph ? STATES[state].glyph + ' ' : '';
      const side = this.side(m, frame, id),
        key = `${state}${glyph} ${side} ${this.view.state.lang}`;
      if (node.key !== key) {
        node.key = key;
        node.g.setAttribute('aria-label', `${m.label(id)}, ${this.view.say(`state.${state}`)}, ${side}`);
        const {u} = this.map,
          under = this.map.folded.get(id),
          number = node.bare ? '' : side;
        const spare = node.width / u - (node.shared ? 0.9 : 1) * BOX.pad - (number ? 9 : 3) - cellsOf(number) * 6.4;
        const room = Math.floor(spare / BOX.cell) - (under ? 3 : 0);
        write(node.text, clip((node.shared ? '' : glyph) + m.label(id), room) + (under ? ` +${under}` : ''));
        write(node.side, number);
      }
    }
    for (const fan of this.fans) {
      const there = frame.layer === null ? frame.kind !== 'root' : fan.layer <= frame.layer;
      const fresh = frame.kind === 'expand' && fan.layer === frame.layer;
      put(fan.g, 'class', `fan${there ? '' : ' absent'}${fresh ? ' fresh' : ''}${drafting ? '' : ' faint'}`);
    }
    const forward = this.before && this.before[0] === m && this.before[1] === i - 1;
    const now = performance.now(),
      hurried = now - this.stepped < 450; // whoever leafs through wants no show
    this.before = [m, i];
    this.stepped = now;
    if (forward && this.view.moves && !hurried) this.play(m, i);
    if (this.world.parentNode !== this.svg) this.svg.replaceChildren(this.world); // whole, so that nothing fades in
  }

  // A step forward, shown: children come out of their parents; the accepted path grows until it fails.
  play(m, i) {
    const frame = m.frames[i],
      time = {duration: 240, easing: 'ease-out', fill: 'backwards'};
    if (!['expand', 'accept'].includes(frame.kind)) return;
    const fresh = id => m.state(i, id) !== ABSENT && m.state(i - 1, id) === ABSENT;
    // many are quicker seen than moved
    if (frame.kind === 'expand' && [...this.nodes.keys()].filter(fresh).length > 24) return;
    for (const [id, node] of this.nodes) {
      const state = m.state(i, id);
      if (state === ABSENT || !node.edge) continue;
      if (frame.kind === 'expand' && fresh(id)) {
        const from = this.at(m.parent[id]),
          to = this.at(id);
        node.g.animate(
          [
            {transform: `translate(${from.x - to.x}px, ${from.y - to.y}px)`, opacity: 0},
            {transform: 'none', opacity: 1},
          ],
          time,
        );
        node.edge.animate([{opacity: 0}, {opacity: 1}], time);
      } else if (frame.kind === 'accept' && 'axb'.includes(state)) {
        const delay = 170 * (state === 'a' ? m.depth(id) - 1 : m.raw.accept.path.length - 1),
          length = node.edge.getTotalLength();
        node.g.animate([{opacity: 0.25}, {opacity: 1}], {...time, delay});
        if (state === 'a')
          node.edge.animate(
            [
              {strokeDasharray: length, strokeDashoffset: length},
              {strokeDasharray: length, strokeDashoffset: 0},
            ],
            {...time, delay},
          );
      }
    }
  }

  // What stands at the right of a box, by frame.
  side(m, frame, id) {
    const unit = FRAMES[frame.kind].unit,
      row = m.rowOf.get(id);
    if (unit === 'choice') {
      // the box's own token has the first right to the room
      const room =
        (this.at(id).w / this.map.u - BOX.pad - 9 - BOX.cell * Math.min(8, cellsOf(m.label(id)))) / 6.4 - 1;
      return row === undefined ? '' : '→' + clip(m.choice(row), Math.max(3, Math.min(6, Math.floor(room))));
    }
    if (id === 0 || id === m.bonus) return unit === 'row' && id === 0 ? '0' : '';
    if (unit === 'score' || (unit === 'p' && m.layer(id) !== frame.layer)) return num(m.score(id));
    if (unit === 'row') return row === undefined ? '' : String(row);
    if (unit === 'target') return row === undefined ? '' : short(m.raw.target.token_prob[row]);
    return short(Math.exp(m.logProb(id)));
  }

  // What focus() has put on a box and a step must not take off.
  marks(id) {
    return (
      (this.path.has(id) ? ' on' : '') + (id === this.marked[0] ? ' me' : '') + (id === this.marked[1] ? ' pin' : '')
    );
  }

  // Only what changes is touched.
  focus(m, focus, pin) {
    if (pin !== null && m.isBox(pin) && !this.nodes.has(pin)) {
      this.round(m); // it was folded away, or not asked for
      this.frame(m, this.view.state.frame);
    }
    const path = new Set(focus === null ? [] : m.path(focus)),
      turn = (id, name, on) => {
        const node = this.nodes.get(id);
        if (!node) return;
        node.g.classList.toggle(name, on);
        if (name === 'on' && node.edge) node.edge.classList.toggle(name, on);
        if (name !== 'pin') return;
        node.g.setAttribute('aria-selected', on);
        node.g.setAttribute('tabindex', on || id === 0 ? 0 : -1);
      };
    for (const id of this.path) if (!path.has(id)) turn(id, 'on', false);
    for (const id of path) if (!this.path.has(id)) turn(id, 'on', true);
    const [me, pinned] = this.marked;
    if (me !== focus) {
      turn(me, 'me', false);
      turn(focus, 'me', true);
    }
    if (pinned !== pin) {
      turn(pinned, 'pin', false);
      turn(pin, 'pin', true);
    }
    if (pinned !== pin && (pinned === null) !== (pin === null)) this.svg.classList.toggle('focused', pin !== null);
    this.path = path;
    this.marked = [focus, pin];
    this.fan.show(m, focus, pin);
  }
}

Object.assign(Tree.prototype, zooming);
