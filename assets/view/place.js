// Where the boxes of a tree stand on the page: depth from left to right, or from the top down. Python says who is
// beside whom (`y`, in rows); here rows and depths become pixels, columns as wide as their longest label.

import {cellsOf} from './text.js';

export const READABLE = 0.8; // of the natural size: below it labels are not read any more
export const MOST = 1.12;
export const BOX = {height: 21, pitch: 25.5, gap: 30, cell: 7.25, cells: 10, side: 44, pad: 9, down: 62, beside: 10};

export class Place {
  constructor(m, down, width, height) {
    const {cell, cells, side, pad, gap, pitch, down: rise, beside} = BOX;
    this.place = m.place;
    this.down = down;
    this.m = m;
    this.w = [];
    let low = 0,
      deepest = 0;
    for (const [id, p] of m.place) {
      const w = pad + cell * Math.min(cellsOf(m.label(id)) + (id ? 2 : 0), cells + 2) + side;
      this.w[p.depth] = Math.max(this.w[p.depth] || 72, w);
      low = Math.max(low, p.y);
      deepest = Math.max(deepest, p.depth);
    }
    if (down) {
      this.w.fill(Math.min(112, Math.max(...this.w)));
      this.step = this.w[0] + beside;
      this.size = {w: low * this.step + this.w[0], h: deepest * rise + BOX.height};
      return;
    }
    this.size = {w: 0, h: low * pitch + BOX.height};
    this.columns(gap);
    if (width < 620) return;
    // where the height decides the scale, the columns spread over the width that is left
    const k = Math.max(READABLE, Math.min(MOST, height / this.size.h, width / this.size.w));
    this.columns(Math.min(74, gap + Math.max(0, width / k - this.size.w) / Math.max(1, this.w.length - 1)));
  }

  columns(gap) {
    let x = 0;
    this.x = this.w.map(w => {
      const here = x;
      x += w + gap;
      return here;
    });
    this.size.w = x - gap;
  }

  at(id) {
    const p = this.place.get(id);
    return this.down
      ? {x: p.y * this.step, y: p.depth * BOX.down, w: this.w[0]}
      : {x: this.x[p.depth], y: p.y * BOX.pitch, w: this.w[p.depth]};
  }

  // The path of an edge, from the far side of the parent to the near side of the child.
  curve(from, to) {
    const a = this.at(from),
      b = this.at(to),
      half = BOX.height / 2;
    if (this.down) {
      const x1 = a.x + a.w / 2,
        x2 = b.x + b.w / 2,
        y1 = a.y + BOX.height,
        bend = (b.y - y1) * 0.55;
      return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${b.y - bend} ${x2} ${b.y}`;
    }
    const x1 = a.x + a.w,
      y1 = a.y + half,
      y2 = b.y + half,
      bend = (b.x - x1) * 0.55;
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${b.x - bend} ${y2} ${b.x} ${y2}`;
  }

  // A hair for every thin candidate of a parent; the likelier, the longer.
  fan(parent, thin) {
    const b = this.at(parent),
      spread = Math.min(1.25, 0.17 * thin.length),
      turn = this.down ? Math.PI / 2 : 0;
    const x = this.down ? b.x + b.w / 2 : b.x + b.w + 1,
      y = this.down ? b.y + BOX.height + 1 : b.y + BOX.height / 2;
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
