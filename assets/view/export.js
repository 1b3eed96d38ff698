// What leaves the page: the trace, tree and mask as SVG and PNG.

import {make, svgNode} from './dom.js';
import {colours} from './paint.js';

export const PAINTED = [
  'fill',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'stroke-linecap',
  'opacity',
  'fill-opacity',
  'stroke-opacity',
  'font-family',
  'font-size',
  'font-weight',
  'text-anchor',
  'visibility',
  'display',
];

export const download = (name, blob) => {
  const link = make('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};

export const fileName = (view, ending) => {
  const all = (view.data.header.prompt.text.match(/[\p{L}\p{N}]+/gu) || ['run']).slice(-5).join('-').toLowerCase();
  const words = [...all.slice(0, 200)].slice(0, 60).join(''); // whole characters, and a name that every disk takes
  return `${words}-round-${view.state.round + 1}-${view.frame?.kind}${ending}`;
};

// The tree as it stands, with its colours written into it, cropped to what there is.
export const treeSvg = view => {
  const from = view.ref.tree,
    svg = from.cloneNode(true),
    size = view.tree.size,
    pad = 16;
  const old = from.querySelectorAll('*'),
    fresh = svg.querySelectorAll('*');
  fresh.forEach((node, i) => {
    const style = getComputedStyle(old[i]);
    for (const name of PAINTED) node.setAttribute(name, style.getPropertyValue(name));
    for (const name of ['class', 'tabindex', 'role', 'aria-level', 'aria-selected', 'aria-hidden'])
      node.removeAttribute(name);
  });
  const background = svgNode('rect', {
    x: -pad,
    y: -pad,
    width: size.w + 2 * pad,
    height: size.h + 2 * pad,
    fill: colours(view).card,
  });
  svg.querySelector('g').removeAttribute('transform');
  svg.prepend(background);
  for (const [name, value] of Object.entries({
    xmlns: 'http://www.w3.org/2000/svg',
    width: size.w + 2 * pad,
    height: size.h + 2 * pad,
    viewBox: `${-pad} ${-pad} ${size.w + 2 * pad} ${size.h + 2 * pad}`,
  }))
    svg.setAttribute(name, value);
  for (const name of ['class', 'style', 'data-ref']) svg.removeAttribute(name);
  return {text: new XMLSerializer().serializeToString(svg), width: size.w + 2 * pad, height: size.h + 2 * pad};
};

export const saveSvg = (view, {text}, ending = '') =>
  download(fileName(view, `${ending}.svg`), new Blob([text], {type: 'image/svg+xml'}));

// Twice the natural size, or as large as a canvas may be.
export const savePng = (view, {text, width, height}, ending, failed) => {
  const image = new Image(),
    canvas = make('canvas');
  const scale = Math.min(2, 16384 / width, 16384 / height, Math.sqrt(6e7 / (width * height)));
  canvas.width = Math.max(1, width * scale);
  canvas.height = Math.max(1, height * scale);
  image.onload = () => {
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => (blob ? download(fileName(view, `${ending}.png`), blob) : failed()));
  };
  image.onerror = failed;
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
};

export const saveTrace = view =>
  download(
    fileName(view, '').replace(/-round-.*/, '') + '.trace.jsonl',
    new Blob([view.data.plain()], {type: 'application/x-ndjson'}),
  );
