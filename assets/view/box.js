// A node's box in SVG.

import {svgNode} from './dom.js';
import {BOX} from './place.js';

// The parts of a box. They say where they are themselves: a transform on each would be a layer of its own to the
// browser, and every painting would have to put them together.
export const boxOf = ({x, y, w}, label = ' ', side = ' ') => ({
  rect: svgNode('rect', {x, y, width: w, height: BOX.height, rx: 7}),
  text: svgNode('text', {class: 'label', x: x + BOX.pad, y: y + 14.5}, label),
  side: svgNode('text', {class: 'side', x: x + w - 7, y: y + 14.5, 'text-anchor': 'end'}, side),
});
