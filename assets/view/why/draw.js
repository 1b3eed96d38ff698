// Charts as parts for `fill` (`dom.js`): scales, lines, texts, and the table behind each. Knows no element.

// Places for values, on a straight or a logarithmic scale.
export const linear = (from, to, low, high) => x => low + ((x - from) / (to - from || 1)) * (high - low);
export const logarithmic = (from, to, low, high) => {
  const place = linear(Math.log(from), Math.log(to), low, high);
  return x => place(Math.log(x));
};

// Some three to six round values from 0 to at most `most`.
export const round = (most, about = 5) => {
  const raw = most / about,
    ten = 10 ** Math.floor(Math.log10(raw)),
    step = [1, 2, 5, 10].find(n => n * ten >= raw) * ten;
  return Array.from({length: Math.floor(most / step + 1e-9) + 1}, (_, i) => Number((i * step).toPrecision(12)));
};
export const tens = (low, high) => {
  const found = [];
  for (let x = 10 ** Math.ceil(Math.log10(low) - 1e-9); x <= high * 1.0001; x *= 10) found.push(x);
  return found;
};

const px = x => Math.round(x * 10) / 10;

export const chart = (w, h, name, ...parts) => [
  'svg',
  {class: 'chart', width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: 'group', 'aria-label': name},
  ...parts,
];
export const group = (attributes, ...parts) => ['g', attributes, ...parts];
export const text = (x, y, said, kind = '', anchor = 'start') => [
  'text',
  {x: px(x), y: px(y), class: kind, 'text-anchor': anchor},
  said,
];
export const line = (x1, y1, x2, y2, kind) => ['line', {x1: px(x1), y1: px(y1), x2: px(x2), y2: px(y2), class: kind}];
export const rect = (x, y, width, height, kind, r = 0) => [
  'rect',
  {x: px(x), y: px(y), width: Math.max(0, px(width)), height: Math.max(0, px(height)), class: kind, rx: r},
];
export const dot = (x, y, r, kind) => ['circle', {cx: px(x), cy: px(y), r, class: kind}];
export const path = (d, kind) => ['path', {d, class: kind}];
export const title = said => ['title', {}, said];

// Through points [x, y]: straight, or level until the next.
export const through = points => points.map(([x, y], i) => `${i ? 'L' : 'M'}${px(x)} ${px(y)}`).join('');
export const stairs = (points, end) =>
  points.map(([x, y], i) => (i ? `H${px(x)}V${px(y)}` : `M${px(x)} ${px(y)}`)).join('') + `H${px(end)}`;

// What a bar does that leads to a round: one of a chart is in the tab order, arrows go to the next.
export const leading = (round, now, name) => ({
  'data-round': round,
  role: 'button',
  tabindex: round === now ? 0 : -1,
  'aria-label': name,
  'aria-pressed': round === now,
  class: `lead${round === now ? ' now' : ''}`,
});

// The table behind a chart; `open` at first where there is room. rows: [attributes, ...cells]; a cell is a text or a
// part.
export const table = (name, heads, rows, open = false) => [
  'details',
  {class: 'behind', ...(open && {open: ''})},
  ['summary', {}, name],
  [
    'div',
    {class: 'sheet', tabindex: 0, role: 'region', 'aria-label': name},
    [
      'table',
      {},
      ['thead', {}, ['tr', {}, ...heads.map(head => ['th', {scope: 'col'}, head])]],
      ['tbody', {}, ...rows.map(([of, ...cells]) => ['tr', of, ...cells.map(cell => ['td', {}, cell])])],
    ],
  ],
];

// A text with parts in the place of its {names}.
export const rich = (template, values) =>
  template
    .split(/(\{\w+\})/)
    .filter(piece => piece)
    .map(piece => (piece[0] === '{' ? (values[piece.slice(1, -1)] ?? piece) : piece));

export const seconds = s =>
  s < 0.9995 ? `${(1e3 * s).toFixed(s < 0.01 ? 1 : 0)} ms` : `${s.toFixed(s < 9.95 ? 2 : 1)} s`;
export const percent = share => `${(100 * share).toFixed(0)} %`;
export const times = x => `${x.toFixed(x < 9.95 ? 2 : 1)}×`;
