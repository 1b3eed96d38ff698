// The candidates that have no box of their own. A fan of hairs stands for them at their parent; pin the parent (a click
// on the fan does) and it opens: every one of them with its probability. One that is looked at elsewhere shows alone.

import {boxOf} from './box.js';
import {svgNode} from './dom.js';
import {ABSENT} from './frames.js';
import {BOX} from './place.js';
import {cellsOf, clip, short} from './text.js';

export class Fan {
  constructor(tree) {
    this.tree = tree;
    this.view = tree.view;
    this.shown = [];
    this.key = '';
  }

  close() {
    for (const {g} of this.shown) g.remove();
    this.shown = [];
    this.key = '';
  }

  show(m, focus, pin) {
    const {tree, view} = this,
      now = view.state.frame;
    const parent = pin === null ? null : tree.nodes.has(pin) ? pin : m.parent[pin];
    const open =
      parent === null || !tree.nodes.has(parent)
        ? []
        : (m.children.get(parent) || []).filter(id => !m.isBox(id) && m.state(now, id) !== ABSENT);
    const alone =
      focus !== null &&
      m.candidate(focus) &&
      !m.isBox(focus) &&
      !open.includes(focus) &&
      tree.nodes.has(m.parent[focus]);
    const key = `${now} ${parent} ${open.length} ${alone ? focus : ''}`;
    if (key !== this.key) {
      this.close();
      this.key = key;
      if (open.length) this.list(m, parent, open);
      if (alone) this.list(m, m.parent[focus], [focus]);
    }
    for (const {id, g} of this.shown) g.classList.toggle('me', id === focus);
  }

  // A column beside the parent, the likeliest on top, on a plate that covers what lies under it.
  list(m, parent, ids) {
    const b = this.tree.at(parent),
      {u, down} = this.tree.map,
      tall = BOX.height * u,
      pitch = tall + 3,
      pad = 6,
      single = ids.length === 1;
    const rows = ids.map(id => ({id, label: clip(m.label(id), 14), side: short(Math.exp(m.logProb(id)))}));
    const width = 56 * u + BOX.cell * u * Math.max(...rows.map(row => cellsOf(row.label))),
      height = pitch * rows.length - 3;
    const x = down ? b.x + b.w / 2 - width / 2 : b.x + b.w + 22;
    const y = down ? b.y + 34 : single ? b.y + 6 : Math.max(pad, b.y + b.h / 2 - height / 2);
    const plate = svgNode('g', {class: 'plate', role: 'presentation'});
    if (!single)
      plate.append(
        svgNode('rect', {x: x - pad, y: y - pad, width: width + 2 * pad, height: height + 2 * pad, rx: 11}),
      );
    this.shown.push({id: null, g: plate});
    this.tree.world.append(plate);
    rows.forEach(({id, label, side}, i) => {
      const state = m.state(this.view.state.frame, id);
      const g = svgNode('g', {
        class: `n ghost s-${state}${single ? ' alone' : ''}`,
        'data-node': id,
        role: 'treeitem',
        'aria-level': m.depth(id) + 1,
        'aria-label': `${m.label(id)}, ${this.view.say(`state.${state}`)}, ${side}`,
      });
      const parts = boxOf({x, y: y + i * pitch, w: width, h: tall}, u, label, side);
      g.append(parts.rect, parts.text, parts.side);
      this.shown.push({id, g});
      this.tree.world.append(g);
    });
  }
}
