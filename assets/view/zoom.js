// Zoom and pan of the tree, what is in sight of it, and what pointers do to it. Belongs to Tree and is mixed into it.

import {put} from './dom.js';
import {ABSENT, DECIDED, FRAMES} from './frames.js';
import {MOST, READABLE} from './place.js';

export const zooming = {
  fit(whole = false) {
    if (!this.size) return;
    const {width, height} = this.room;
    if (!width || !height) return;
    const least = whole ? 0 : this.map.down ? READABLE : 1; // readable first: what does not fit is panned
    const most = this.map.down ? MOST : 1; // across, the type is as large as it can be
    const k = Math.max(least, Math.min(most, (width - 8) / this.size.w, (height - 8) / this.size.h));
    const {w, h} = this.size,
      m = this.model,
      root = this.at(0),
      end = this.at(m.bonus);
    // what fits is centred, a little high; else the accepted path is in the middle, as far as the tree's ends allow
    const along = (length, room, middle, lift) =>
      k * length <= room ? (room - k * length) * lift : this.within(room * 0.42 - k * middle, k * length, room);
    this.home = {
      k,
      x: along(w, width, this.map.down ? (root.x + 2 * end.x) / 3 + 50 : 0, 0.5),
      y: along(h, height, this.map.down ? 0 : (root.y + 2 * end.y) / 3, 0.4),
    };
    this.whole = whole;
    this.touched = false;
    this.fitted = true;
    this.settle(m, this.view.state.frame);
  },

  // Where a frame is looked at from, unless a person has moved the tree: from home, and no further away than it takes
  // to see what the frame is about. It depends on nothing before it, so that a link shows what stepping shows.
  settle(m, i) {
    if (this.touched || !this.home) return;
    const {k, x, y} = this.home,
      {width} = this.room,
      aims = this.aims(m, i).map(id => this.at(id));
    this.zoom = {
      k,
      x: this.shift(
        x,
        k,
        width,
        this.size.w,
        aims.map(b => [b.x, b.x + b.w]),
      ),
      y: this.shift(
        y,
        k,
        this.room.height,
        this.size.h,
        aims.map(b => [b.y, b.y + b.h]),
      ),
    };
    this.apply();
  },

  // What must be seen, first things first: the pinned node; the path from its end; else what the sentence names.
  aims(m, i) {
    const frame = m.frames[i],
      {pin} = this.view.state,
      named = this.view.told(frame.say).flatMap(part => (typeof part === 'string' ? [] : [part[1]]));
    const path = FRAMES[frame.kind].stage === DECIDED ? m.path(m.bonus).reverse() : [];
    return [pin, ...path, ...named, ...frame.focus].filter(id => this.nodes.has(id) && m.state(i, id) !== ABSENT);
  },

  // The least move from `at` that brings the first of the spans into the room, and as many more as fit beside them.
  shift(at, k, room, length, spans) {
    if (!spans.length) return at;
    let [from, to] = spans[0];
    for (const [start, end] of spans.slice(1)) {
      if (k * (Math.max(to, end) - Math.min(from, start)) > room - 8) break;
      from = Math.min(from, start);
      to = Math.max(to, end);
    }
    const moved = Math.max(4 - k * from, Math.min(room - 4 - k * to, at));
    return this.within(moved, k * length, room);
  },

  // No further than the tree's ends, where it is longer than the room.
  within(at, length, room) {
    return length <= room ? at : Math.min(4, Math.max(room - 4 - length, at));
  },

  apply() {
    const {k, x, y} = this.zoom;
    put(this.world, 'transform', `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${k.toFixed(4)})`);
  },

  scale(factor, cx = this.room.width / 2, cy = this.room.height / 2) {
    const k = Math.max(0.2, Math.min(4, this.zoom.k * factor)),
      f = k / this.zoom.k;
    this.zoom = {k, x: cx - (cx - this.zoom.x) * f, y: cy - (cy - this.zoom.y) * f};
    this.touched = true;
    this.apply();
  },

  // Brings a node into view if it is outside.
  reveal(id) {
    if (!this.nodes.has(id)) return;
    const b = this.at(id),
      {k} = this.zoom,
      {width, height} = this.room;
    const left = this.zoom.x + k * b.x,
      top = this.zoom.y + k * b.y;
    if (left < 0 || left + k * b.w > width) this.zoom.x = width / 2 - k * (b.x + b.w / 2);
    if (top < 0 || top + k * b.h > height) this.zoom.y = height * 0.6 - k * b.y;
    if (!this.touched) {
      this.zoom.x = this.within(this.zoom.x, k * this.size.w, width);
      this.zoom.y = this.within(this.zoom.y, k * this.size.h, height);
    }
    this.apply();
  },

  listen() {
    const pointers = new Map();
    let moved = 0,
      spread = 0;
    const local = event => {
      const at = this.svg.getBoundingClientRect();
      return [event.clientX - at.left, event.clientY - at.top];
    };
    this.view.on(
      this.svg,
      'wheel',
      event => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.scale(Math.exp(-event.deltaY * 0.0035), ...local(event));
      },
      {passive: false},
    );
    this.view.on(this.svg, 'pointerdown', event => {
      pointers.set(event.pointerId, local(event));
      moved = 0;
      spread = 0;
    });
    this.view.on(this.svg, 'pointermove', event => {
      const last = pointers.get(event.pointerId);
      if (!last) return;
      const now = local(event),
        dx = now[0] - last[0],
        dy = now[1] - last[1];
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved < 5) return;
      if (!this.svg.hasPointerCapture(event.pointerId)) this.svg.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, now);
      if (pointers.size === 2) {
        const [a, b] = [...pointers.values()],
          wide = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (spread) this.scale(wide / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
        spread = wide;
      } else {
        this.zoom.x += dx;
        this.zoom.y += dy;
        this.touched = true;
        this.apply();
      }
    });
    const up = event => {
      pointers.delete(event.pointerId);
      spread = 0;
    };
    this.view.on(this.svg, 'pointerup', up);
    this.view.on(this.svg, 'pointercancel', up);
    this.view.on(this.svg, 'pointerover', event => {
      if (event.pointerType !== 'touch' && !pointers.size) this.view.hover(this.hit(event.target));
    });
    this.view.on(this.svg, 'pointerleave', () => this.view.hover(null));
    this.view.on(this.svg, 'click', event => {
      if (moved >= 5) return;
      const id = this.hit(event.target);
      if (id !== null) this.view.pin(id);
      else this.view.set({pin: null});
    });
    this.view.on(this.svg, 'dblclick', event => {
      const id = this.hit(event.target);
      if (id !== null) this.fold(id);
    });
    this.view.on(this.box, 'focusin', event => {
      const id = this.hit(event.target);
      if (id !== null && event.target.matches(':focus-visible')) this.view.hover(id);
    });
    // not on the SVG: Chromium would make it a tab stop
    this.view.on(this.box, 'focusout', () => this.view.hover(null));
  },

  hit(target) {
    const g = target.closest('[data-node], [data-fan]');
    return g && this.svg.contains(g) ? Number(g.dataset.node ?? g.dataset.fan) : null;
  },
};
