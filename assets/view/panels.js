// The panel beside the tree: candidates by score, the mask, the rows, the paths, the draws, the cache.

import {fill, hide, linkNodes, make, put, write} from './dom.js';
import {FRAMES} from './frames.js';
import {paintMask} from './mask.js';
import {paintScores} from './paint.js';
import {tables} from './tables.js';

export class Panels {
  constructor(view) {
    this.view = view;
    this.body = view.ref.panel;
    this.caption = view.ref.caption;
    this.shown = null;
    this.view.on(view.ref.tabs, 'click', event => {
      const tab = event.target.closest('[data-panel]');
      if (tab) view.set({panel: tab.dataset.panel === view.state.panel ? null : tab.dataset.panel});
    });
    this.canvas = make('canvas', 'tv-canvas');
    this.table = make('div', 'tv-table');
    this.canvas.setAttribute('role', 'img');
    this.body.append(this.canvas, this.table);
    this.table.tabIndex = 0;
    this.table.setAttribute('role', 'region');
    linkNodes(view, this.table);
    this.view.on(this.canvas, 'pointermove', event => this.point(event));
    this.view.on(this.canvas, 'pointerdown', event => this.point(event));
    this.view.on(this.canvas, 'pointerleave', () => {
      this.cell = null;
      view.hover(null);
    });
    this.view.on(this.canvas, 'click', event => {
      this.point(event);
      if (view.state.hover !== null) view.pin(view.state.hover);
    });
    this.view.on(view.ref.tabs, 'keydown', event => this.turn(event));
    this.view.sizes(this.body, () => {
      this.width = this.body.clientWidth;
      this.height = Math.max(160, this.body.clientHeight);
      this.table.classList.toggle('tight', this.width < 350);
      if (!this.model) return;
      this.paint();
      if (!this.table.hidden) {
        fill(this.table, this[this.shown](this.model)); // as much of a token as there is room for
        this.focus(this.model, this.focused);
      }
    });
  }

  get name() {
    const {panel, sampled} = FRAMES[this.view.frame.kind];
    return this.view.state.panel ?? ((this.model.raw.accept.draws.length && sampled) || panel);
  }

  frame(m) {
    this.model = m;
    const names = ['scores', 'mask', 'rows', 'paths', ...(m.raw.accept.draws.length ? ['draws'] : []), 'cache'];
    const t = key => this.view.say(key),
      name = names.includes(this.name) ? this.name : 'mask';
    fill(
      this.view.ref.tabs,
      names.map(key => [
        'button',
        {
          role: 'tab',
          'data-panel': key,
          'aria-selected': key === name,
          tabindex: key === name ? 0 : -1,
          class: `tab${key === name ? ' now' : ''}${key === this.view.state.panel ? ' held' : ''}`,
        },
        t(key),
      ]),
    );
    write(this.view.ref.paneltitle, t(`panelTitle.${name}`));
    put(this.table, 'aria-label', t(`panelTitle.${name}`));
    const entered = this.view.frame.kind === 'flatten' && name === 'mask' && this.last !== `${m.index} flatten`;
    this.last = `${m.index} ${this.view.frame.kind}`;
    this.filled = Infinity;
    this.cell = null;
    hide(this.view.ref.paneltools, name !== 'mask');
    const painted = name === 'scores' || name === 'mask';
    hide(this.canvas, !painted);
    hide(this.table, painted);
    if (painted) {
      if (entered && this.view.moves) this.fill();
    } else {
      fill(this.table, this[name](m));
      const best = this.table.querySelector('.best');
      if (best || this.shown !== name)
        this.view.after('best', () => {
          this.table.scrollTop = best ? best.offsetTop - 70 : 0;
        });
    }
    this.shown = name;
    this.repaint();
  }

  // Among the tabs by arrow, for whoever came to them by keyboard; after a click the arrows go on stepping.
  turn(event) {
    const by = {ArrowLeft: -1, ArrowRight: 1}[event.key],
      tab = event.target.closest('.tab');
    if (!by || !tab || !this.view.reached || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const tabs = [...this.view.ref.tabs.children],
      next = tabs.at((tabs.indexOf(tab) + by) % tabs.length);
    this.view.set({panel: next.dataset.panel});
    next.focus();
  }

  // The mask appears row by row when one steps into the flatten frame.
  fill() {
    const rows = this.model.raw.tree.mask.length,
      start = performance.now(),
      model = this.model,
      time = 900;
    const step = now => {
      if (this.model !== model || this.view.frame?.kind !== 'flatten' || this.shown !== 'mask') {
        this.filled = Infinity;
        return;
      }
      this.filled = ((now - start) / time) * rows;
      this.paint();
      if (this.filled < rows) this.view.life.nextFrame('fill', step);
      else {
        this.filled = Infinity;
        this.paint();
      }
    };
    this.filled = 0;
    this.view.life.nextFrame('fill', step);
  }

  focus(m, focus) {
    this.focused = focus;
    put(this.canvas, 'data-row', m.rowOf.get(focus) ?? '');
    this.repaint();
    if (this.table.hidden) return;
    const row = m.rowOf.get(focus);
    for (const each of this.table.querySelectorAll('[data-node]'))
      each.classList.toggle('me', Number(each.dataset.node) === focus);
    for (const line of this.table.querySelectorAll('[data-path]')) {
      line.classList.toggle('on', row !== undefined && m.raw.tree.retrieve_indices[line.dataset.path].includes(row));
    }
  }

  repaint() {
    this.view.after('panel', () => this.paint());
  }

  paint() {
    const m = this.model,
      {view} = this;
    if (!m || !this.shown) return;
    const c = m.raw.cache;
    if (this.shown === 'scores') paintScores(this, m);
    else if (this.shown === 'mask') paintMask(this, m);
    else
      write(
        this.caption,
        this.shown === 'cache'
          ? view.say('cacheHint', {
              before: c.length_before,
              after: c.length_after,
              kept: c.kept.length,
              dropped: m.raw.tree.candidate.length - c.kept.length,
            })
          : view.say(this.shown + 'Hint'),
      );
  }

  point(event) {
    const at = this.canvas.getBoundingClientRect(),
      x = event.clientX - at.left,
      y = event.clientY - at.top;
    const hit = this.hitTest ? this.hitTest(x, y) : null;
    this.cell = hit;
    this.view.hover(hit ? hit.node : null);
    this.repaint();
  }
}

Object.assign(Panels.prototype, tables);
