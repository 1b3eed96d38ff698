// Where the boxes of a tree stand on the page: depth from left to right, or from the top down. `lines.js` says who
// stands on which line; here lines and depths become pixels, columns as wide as their longest label. From left to right
// the type is as large as the room allows: it is the tree that gives way, never the letters.

import {foldable, kidsOf, linesOf} from './lines.js';
import {cellsOf} from './text.js';

export const READABLE = 0.8; // of the natural size, where depth goes down: below it labels are not read any more
export const MOST = 1.12;
// of a box whose type is 12 px high
export const BOX = {height: 21, gap: 30, cell: 7.25, cells: 10, side: 44, pad: 9, down: 62, beside: 10};
const SIZES = [15, 14, 13, 12.5, 12, 11.5]; // of the type, in pixels
const PITCH = {boxes: 2, shared: 1.66}; // from line to line, in heights of the type
const SQUEEZED = [
  {gap: 1, cells: 10},
  {gap: 0.5, cells: 8},
  {gap: 0.35, cells: 5},
  {gap: 0.25, cells: 4, bare: true}, // without numbers
];
const WIDEST = 74; // between two columns

export class Place {
  // keep: boxes that are never shared or folded; folds: those that the reader has folded; only: the boxes to show, or
  // null; type: how many times as large as usual all type is.
  constructor(m, down, width, height, {keep = new Set(), folds = new Set(), only = null, type = 1} = {}) {
    this.m = m;
    this.down = down;
    this.folded = new Map();
    this.beside = new Map();
    this.u = type;
    if (down) this.downward(m);
    else this.across(m, {width, height, keep, folds, only, type});
    this.last = new Set([...this.shown].filter(id => ![...this.beside.values()].includes(id)));
  }

  downward(m) {
    const {cell, cells, side, pad, down: rise, beside} = BOX;
    let low = 0,
      deepest = 0,
      widest = 72;
    for (const [id, p] of m.place) {
      widest = Math.max(widest, pad + cell * Math.min(cellsOf(m.label(id)) + (id ? 2 : 0), cells + 2) + side);
      low = Math.max(low, p.y);
      deepest = Math.max(deepest, p.depth);
    }
    this.shown = new Set(m.place.keys());
    this.way = 'boxes';
    this.u = 1;
    this.h = BOX.height;
    const w = Math.min(112, widest);
    this.step = w + beside;
    this.size = {w: low * this.step + w, h: deepest * rise + BOX.height};
    this.spots = new Map([...m.place].map(([id, p]) => [id, {x: p.y * this.step, y: p.depth * rise, w, h: this.h}]));
  }

  // The first way and the largest type that fit; else branches are folded until they do.
  across(m, room) {
    const kids = kidsOf(m, room.only),
      fold = new Set([...room.folds].filter(id => kids.get(id)?.length)),
      lines = linesOf(m, kids, {keep: room.keep, folded: fold}).lines;
    let found = null;
    for (const way of lines * 23 * room.type > room.height ? ['shared'] : ['boxes', 'shared'])
      for (const size of SIZES)
        for (const squeeze of SQUEEZED)
          found ??= this.fitting(m, kids, {...room, way, size: size * room.type, squeeze, fold});
    found ??= this.folding(m, kids, {...room, way: 'shared', size: SIZES.at(-1) * room.type, fold});
    Object.assign(this, found);
    this.spread(room.width);
  }

  fitting(m, kids, room) {
    const made = this.made(m, kids, room);
    return made.size.w <= room.width && made.size.h <= room.height ? made : null;
  }

  // As few branches folded as will do, and labels as long as may be. Of a tree that even so is too tall, what can be
  // folded is.
  folding(m, kids, room) {
    const all = foldable(m, kids, room.keep);
    const made = (n, squeeze) =>
      this.made(m, kids, {...room, squeeze, fold: new Set([...room.fold, ...all.slice(0, n)])});
    for (const squeeze of SQUEEZED) {
      let least = 0,
        most = all.length;
      while (least < most) {
        const n = (least + most) >> 1;
        if (made(n, squeeze).size.h <= room.height) most = n;
        else least = n + 1;
      }
      const found = made(least, squeeze);
      if (found.size.w <= room.width || squeeze === SQUEEZED.at(-1)) return {...found, way: 'folded'};
    }
  }

  // The tree in one way at one size of type: {spots, size, shown, beside, folded, u, h}.
  made(m, kids, {way, size, squeeze, keep, fold, width}) {
    const u = size / 12,
      {pad, cell, side, height} = BOX,
      h = height * u,
      pitch = Math.max(size * PITCH[way], way === 'boxes' ? 23 : 19),
      most = Math.min(pitch - 2.5, h),
      label = id => Math.min(cellsOf(m.label(id)), squeeze.cells) + (fold.has(id) ? 3.4 : 0),
      shared = way === 'shared',
      closed = id => fold.has(id) || !kids.get(id).length,
      own = id => u * (pad + cell * (label(id) + (id ? 2 : 0)) + (squeeze.bare ? 4 : side)),
      cellOf = id => u * (1.6 * pad + cell * label(id)),
      columns = [];
    for (const id of this.reached(kids, fold)) {
      const depth = m.depth(id),
        sharing = shared && closed(id) && !keep.has(id) && id;
      columns[depth] = Math.max(columns[depth] ?? 44 * u, sharing ? 0 : own(id));
    }
    const x = [];
    columns.reduce((at, w, depth) => ((x[depth] = at), at + w + BOX.gap * u * squeeze.gap), 0);
    const fits = (ids, depth) => {
      let left = Math.max(width - x[depth] - 40 * u, 0);
      return ids.findIndex(id => (left -= cellOf(id)) < 0) >>> 0; // none of them is too many
    };
    const {y, beside, lines, folded} = linesOf(m, kids, {keep, folded: fold, shared, fits}),
      spots = new Map();
    for (const id of y.keys()) {
      const before = spots.get(beside.get(id)),
        depth = m.depth(id),
        alone = !shared || !closed(id) || keep.has(id) || !id;
      spots.set(id, {
        x: before ? before.x + before.w : x[depth],
        y: y.get(id) * pitch,
        w: alone ? columns[depth] : cellOf(id),
        h: most,
        shared: !alone,
        bare: squeeze.bare,
      });
    }
    const right = Math.max(...[...spots.values()].map(b => b.x + b.w + 28 * u));
    return {
      ...{spots, beside, folded, u, h: most, way, pitch, columns, gap: BOX.gap * u * squeeze.gap},
      shown: new Set(y.keys()),
      size: {w: right, h: (lines - 1) * pitch + most},
    };
  }

  reached(kids, fold) {
    const order = [0];
    for (let i = 0; i < order.length; i++) if (!fold.has(order[i])) order.push(...kids.get(order[i]));
    return order;
  }

  // Columns take the width that is left, as far as that is good.
  spread(width) {
    const more = Math.min(WIDEST * this.u - this.gap, (width - this.size.w) / Math.max(1, this.columns.length - 1));
    if (more <= 0) return;
    for (const [id, spot] of this.spots) spot.x += more * this.m.depth(id);
    this.size.w += more * (this.columns.length - 1);
  }

  has(id) {
    return this.shown.has(id);
  }
  at(id) {
    return this.spots.get(id);
  }

  // The path of an edge, from the far side of the parent to the near side of the child.
  curve(from, to) {
    const a = this.at(from),
      b = this.at(to);
    if (this.down) {
      const x1 = a.x + a.w / 2,
        x2 = b.x + b.w / 2,
        y1 = a.y + a.h,
        bend = (b.y - y1) * 0.55;
      return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${b.y - bend} ${x2} ${b.y}`;
    }
    const x1 = a.x + a.w,
      y1 = a.y + a.h / 2,
      y2 = b.y + b.h / 2,
      bend = (b.x - x1) * 0.55;
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${b.x - bend} ${y2} ${b.x} ${y2}`;
  }

  // A hair for every thin candidate of a parent; the likelier, the longer. None between two boxes of one line.
  fan(parent, thin) {
    if (!this.last.has(parent)) return '';
    const b = this.at(parent),
      spread = Math.min(1.25, 0.17 * thin.length) * (this.down ? 1 : Math.min(1, this.pitch / 25)),
      turn = this.down ? Math.PI / 2 : 0;
    const x = this.down ? b.x + b.w / 2 : b.x + b.w + 1,
      y = this.down ? b.y + b.h + 1 : b.y + b.h / 2;
    return thin
      .map((id, i) => {
        const angle = turn + (thin.length > 1 ? -spread + (2 * spread * i) / (thin.length - 1) : 0);
        const length = 7 + 20 * Math.sqrt(Math.exp(this.m.logProb(id)));
        const dx = Math.cos(angle) * length,
          dy = Math.sin(angle) * length;
        return `M${x} ${y}l${dx.toFixed(1)} ${dy.toFixed(1)}m-.9 0a.9 .9 0 1 0 1.8 0a.9 .9 0 1 0 -1.8 0`;
      })
      .join('');
  }
}
