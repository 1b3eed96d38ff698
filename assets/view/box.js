// A node's box in SVG.

import {svgNode} from './dom.js';
import {BOX} from './place.js';

// The parts of a box whose type is `u` times 12 px. They say where they are themselves: a transform on each would be a
// layer of its own to the browser, and every painting would have to put them together. One that shares its line is a
// cell: corners square, no room for a number, and a bar under its word as long as its `share`, if it has one.
export const boxOf = ({x, y, w, h, shared = false}, u, label = ' ', side = ' ', share = null) => {
  const base = y + h / 2 + 4.1 * u;
  const parts = {
    rect: svgNode('rect', {x, y, width: w, height: h, rx: shared ? 2 : 7}),
    text: svgNode('text', {class: 'label', x: x + (shared ? 0.8 : 1) * BOX.pad * u, y: base}, label),
    side: svgNode('text', {class: 'side', x: x + w - 7 * u, y: base, 'text-anchor': 'end'}, side),
  };
  if (shared && share !== null)
    parts.bar = svgNode('path', {
      class: 'share',
      d: `M${x + 3} ${y + h - 1.5}h${(Math.max(0.03, share) * (w - 6)).toFixed(1)}`,
    });
  return parts;
};
