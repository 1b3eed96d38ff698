// The panel beside the tree: candidates by score, the mask, the rows, the paths, the draws, the cache.

import {fill, hide, linkNodes, make, put, write} from './dom.js';
import {FRAMES} from './frames.js';
import {paintMask} from './mask.js';
import {paintScores} from './paint.js';
import {clip, num} from './text.js';

export class Panels {
  constructor(view) {
    this.view = view; this.body = view.ref.panel; this.caption = view.ref.caption; this.shown = null;
    this.view.on(view.ref.tabs, 'click', event => {
      const tab = event.target.closest('[data-panel]');
      if (tab) view.set({panel: tab.dataset.panel === view.state.panel ? null : tab.dataset.panel});
    });
    this.canvas = make('canvas', 'tv-canvas'); this.table = make('div', 'tv-table');
    this.canvas.setAttribute('role', 'img');
    this.body.append(this.canvas, this.table);
    this.table.tabIndex = 0; this.table.setAttribute('role', 'region');
    linkNodes(view, this.table);
    this.view.on(this.canvas, 'pointermove', event => this.point(event));
    this.view.on(this.canvas, 'pointerdown', event => this.point(event));
    this.view.on(this.canvas, 'pointerleave', () => { this.cell = null; view.hover(null); });
    this.view.on(this.canvas, 'click', event => {
      this.point(event);
      if (view.state.hover !== null) view.pin(view.state.hover);
    });
    this.view.on(view.ref.tabs, 'keydown', event => this.turn(event));
    this.view.sizes(this.body, () => {
      this.width = this.body.clientWidth;
      this.table.classList.toggle('tight', this.width < 350);
      if (!this.model) return;
      this.paint();
      if (!this.table.hidden) { fill(this.table, this[this.shown](this.model)); this.focus(this.model, this.focused); }  // as much of a token as there is room for
    });
  }

  get name() {
    const kind = this.view.frame.kind, sampled = this.model.raw.accept.draws.length > 0;
    return this.view.state.panel ?? (kind === 'accept' && sampled ? 'draws' : FRAMES[kind].panel);
  }

  frame(m) {
    this.model = m;
    const names = ['scores', 'mask', 'rows', 'paths', ...(m.raw.accept.draws.length ? ['draws'] : []), 'cache'];
    const t = key => this.view.say(key), name = names.includes(this.name) ? this.name : 'mask';
    fill(this.view.ref.tabs, names.map(key => ['button', {role: 'tab', 'data-panel': key, 'aria-selected': key === name, tabindex: key === name ? 0 : -1,
      class: `tab${key === name ? ' now' : ''}${key === this.view.state.panel ? ' held' : ''}`}, t(key)]));
    write(this.view.ref.paneltitle, t(`panelTitle.${name}`)); put(this.table, 'aria-label', t(`panelTitle.${name}`));
    const entered = this.view.frame.kind === 'flatten' && name === 'mask' && this.last !== `${m.index} flatten`;
    this.last = `${m.index} ${this.view.frame.kind}`;
    this.filled = Infinity; this.cell = null;
    hide(this.view.ref.paneltools, name !== 'mask');
    const painted = name === 'scores' || name === 'mask';
    hide(this.canvas, !painted); hide(this.table, painted);
    if (painted) { if (entered && this.view.moves) this.fill(); }
    else {
      fill(this.table, this[name](m));
      const best = this.table.querySelector('.best');
      if (best || this.shown !== name) this.view.after('best', () => { this.table.scrollTop = best ? best.offsetTop - 70 : 0; });
    }
    this.shown = name;
    this.repaint();
  }

  // Among the tabs by arrow, for whoever came to them by keyboard; after a click the arrows go on stepping.
  turn(event) {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key], tab = event.target.closest('.tab');
    if (!by || !tab || !this.view.reached || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const tabs = [...this.view.ref.tabs.children], next = tabs.at((tabs.indexOf(tab) + by) % tabs.length);
    this.view.set({panel: next.dataset.panel});
    next.focus();
  }

  // The mask appears row by row when one steps into the flatten frame.
  fill() {
    const rows = this.model.raw.tree.mask.length, start = performance.now(), model = this.model, time = 900;
    const step = now => {
      if (this.model !== model || this.view.frame?.kind !== 'flatten' || this.shown !== 'mask') { this.filled = Infinity; return; }
      this.filled = (now - start) / time * rows;
      this.paint();
      if (this.filled < rows) requestAnimationFrame(step); else { this.filled = Infinity; this.paint(); }
    };
    this.filled = 0;
    requestAnimationFrame(step);
  }

  focus(m, focus) {
    this.focused = focus;
    put(this.canvas, 'data-row', m.rowOf.get(focus) ?? '');
    this.repaint();
    if (this.table.hidden) return;
    const row = m.rowOf.get(focus);
    for (const each of this.table.querySelectorAll('[data-node]')) each.classList.toggle('me', Number(each.dataset.node) === focus);
    for (const line of this.table.querySelectorAll('[data-path]')) {
      line.classList.toggle('on', row !== undefined && m.raw.tree.retrieve_indices[line.dataset.path].includes(row));
    }
  }

  repaint() { this.view.after('panel', () => this.paint()); }

  paint() {
    const m = this.model, {view} = this;
    if (!m || !this.shown) return;
    const c = m.raw.cache;
    if (this.shown === 'scores') paintScores(this, m);
    else if (this.shown === 'mask') paintMask(this, m);
    else write(this.caption, this.shown === 'cache'
      ? view.say('cacheHint', {before: c.length_before, after: c.length_after, kept: c.kept.length,
        dropped: m.raw.tree.candidate.length - c.kept.length})
      : view.say(this.shown + 'Hint'));
  }

  point(event) {
    const at = this.canvas.getBoundingClientRect(), x = event.clientX - at.left, y = event.clientY - at.top;
    const hit = this.hitTest ? this.hitTest(x, y) : null;
    this.cell = hit;
    this.view.hover(hit ? hit.node : null);
    this.repaint();
  }

  // -- tables ----------------------------------------------------------------------------------------------------

  // Cells of the monospaced face that are left to each of some columns of text, where all else takes so many pixels in a
  // tight table and in a wide one.
  room(columns, tight, wide) {
    const [cell, taken] = this.table.classList.contains('tight') ? [6.65, tight] : [7.25, wide], scrollbar = 12;
    return Math.max(4, Math.floor(((this.width || 366) - scrollbar - taken) / columns / cell));
  }

  grid(className, head, rows) {
    return [['table', {class: className}, ['thead', {}, ['tr', {}, ...head.map(name => ['th', name === this.view.say('sees') ? {class: 'sr'} : {}, name])]],
      ['tbody', {}, ...rows]]];
  }

  rows(m) {
    const t = m.raw.tree, w = key => this.view.say(key), cells = this.room(2, 160, 175);
    return this.grid('rows', [w('row'), w('token'), w('candidate'), w('parent'), w('position'), w('says'), w('sees')],
      t.candidate.map((id, row) => {
        const says = clip(m.choice(row), Math.min(12, cells - 2)), has = t.parent.some((p, i) => p === row && m.tokens[t.candidate[i]] === m.raw.target.argmax[row]);
        return ['tr', {class: m.onPath.has(id) ? 'accepted' : '', 'data-node': id}, ...[[row, ''], [clip(m.label(id), Math.min(14, cells)), 'tok'], [id || '–', ''],
          [row ? t.parent[row] : '–', ''], [t.position_ids[row], ''], [(has ? '✓ ' : '') + says, has ? 'tok yes' : 'tok'],
          [t.mask.map((_, i) => i).filter(i => m.sees(row, i)).join(', '), 'sr']].map(([text, kind]) => ['td', {class: kind}, String(text)])];
      }));
  }

  paths(m) {
    const t = m.raw.tree, width = t.retrieve_indices[0].length;
    return this.grid('paths', ['', ...Array.from({length: width}, (_, i) => String(i))], t.retrieve_indices.map((path, i) => {
      const leaf = t.candidate[path.filter(row => row >= 0).pop()];
      return ['tr', {class: i === m.raw.accept.row ? 'best' : '', 'data-path': i, 'data-node': leaf}, ['th', {}, String(i)], ...path.map((row, column) => {
        if (row < 0) return ['td', {class: 'pad'}, '−1'];
        const id = t.candidate[row], onPath = column < m.raw.accept.path.length && m.raw.accept.path[column] === row;
        return ['td', {class: onPath ? 'yes' : '', title: m.label(id), 'data-node': id}, String(row)];
      })];
    }));
  }

  draws(m) {
    const w = key => this.view.say(key), tree = m.raw.tree;
    const cells = Math.min(14, this.room(1, 221, 236));
    let parent = null, left = 1;
    return this.grid('draws', ['', w('token'), 'p', 'r', w('left'), ''], m.raw.accept.draws.map((test, i) => {
      if (tree.parent[test.node] !== parent) { parent = tree.parent[test.node]; left = 1; }
      const id = tree.candidate[test.node], line = [[i + 1, ''], [clip(m.label(id), cells), 'tok'], [num(test.p, 3), ''], [num(test.r, 3), ''],
        [num(left, 3), ''], [test.accepted ? '✓ ' + w('stays') : '✕ ' + w('falls'), 'verdict']];
      left *= 1 - test.p;
      return ['tr', {class: test.accepted ? 'accepted' : 'refused', 'data-node': id}, ...line.map(([text, kind]) => ['td', {class: kind}, String(text)])];
    }));
  }

  cache(m) {
    const c = m.raw.cache, kept = new Set(c.kept), w = key => this.view.say(key);
    const prefix = ['div', {class: 'prefix'}, `${w('cacheBefore')} ${c.length_before}`];
    const before = m.raw.tree.candidate.map((id, row) => ['div', {class: `cell ${kept.has(row) ? 'kept' : 'dropped'}`,
      title: `${w('row')} ${row}: ${m.label(id)}`, 'data-node': id}, kept.has(row) ? '✓' : '']);
    const after = c.kept.map(row => m.raw.tree.candidate[row]).map(id => ['div', {class: 'cell kept wide', 'data-node': id}, m.label(id)]);
    return [['div', {class: 'tv-cache'}, ['div', {class: 'strip'}, prefix, ...before], ['div', {class: 'arrow'}, '↓'],
      ['div', {class: 'strip after'}, prefix, ...after]]];
  }
}
