// The mask: which row may look at which. On a canvas for the page, as SVG for who takes it along. Rows stand in the
// order of creation, as the target gets them, or tree by tree (depth first), which makes of every subtree a block.

import {put, svgNode, write} from './dom.js';
import {DECIDED, FRAMES, ROWS} from './frames.js';
import {colours, onBase, penOf} from './paint.js';
import {cellsOf, clip, quote} from './text.js';

// {rows: the tree's rows as they are shown, at: where each of them stands}
export const maskOrder = (m, byTree) => {
  const parent = m.raw.tree.parent,
    rows = [];
  if (!byTree) parent.forEach((_, row) => rows.push(row));
  else {
    const below = parent.map(() => []);
    parent.forEach((above, row) => {
      if (row) below[above].push(row);
    });
    for (const waiting = [0]; waiting.length;) {
      const row = waiting.pop();
      rows.push(row);
      waiting.push(...below[row].reverse());
    }
  }
  const at = [];
  rows.forEach((row, i) => {
    at[row] = i;
  });
  return {rows, at};
};

export const paintMask = (panel, m) => {
  const {view} = panel,
    byTree = view.state.order === 'tree',
    count = m.raw.tree.mask.length;
  const label = panel.width > 300 ? 84 : 62,
    bar = 16;
  const room = Math.min(Math.min(panel.width, 460) - label - bar - 6, panel.height - 26),
    cell = Math.max(1, Math.min(20, room / count)),
    side = cell * count;
  const got = penOf(panel, Math.ceil(side) + 25);
  if (!got) return;
  const key = `${m.data.text.length} ${m.index} ${byTree}`;
  if (panel.orderKey !== key) {
    panel.orderKey = key;
    panel.order = maskOrder(m, byTree);
  }
  const {rows, at} = panel.order,
    gap = cell > 8 ? 1.4 : cell > 5 ? 0.8 : 0.4;
  const grid = {...got, m, rows, at, cell, side, label, bar, gap, ox: label + bar + 4, oy: 6, kind: view.frame.kind};
  grid.ahead = FRAMES[grid.kind].stage < ROWS;
  grid.decided = FRAMES[grid.kind].stage === DECIDED;
  const filled = Math.min(count, panel.filled ?? count);
  onBase(panel, `mask ${key} ${grid.ahead} ${grid.decided} ${Math.ceil(filled)}`, base =>
    maskCells(base, grid, filled),
  );
  const row = m.rowOf.get(panel.focused),
    focus = row === undefined ? undefined : at[row],
    column = panel.cell?.column;
  const across = column === undefined || column === null || column < 0 ? focus : at[column];
  maskCross(grid, focus, across);
  maskLabels(grid, focus, across, view.say('prefix'));
  panel.hitTest = (x, y) => {
    const i = Math.floor((y - grid.oy) / cell),
      j = Math.floor((x - grid.ox) / cell);
    if (i < 0 || i >= count || j >= count) return null;
    return {
      node: m.raw.tree.candidate[rows[i]],
      row: rows[i],
      column: x < label ? null : x < label + bar ? -1 : rows[Math.max(0, j)],
    };
  };
  write(panel.caption, maskWords(panel, m) || view.say(grid.ahead ? 'notYet' : byTree ? 'maskTreeHint' : 'maskHint'));
  put(panel.canvas, 'aria-label', `${panel.caption.textContent} ${view.say('asTable')}`);
};

export const maskCells = (pen, {m, rows, cell, side, label, bar, gap, ox, oy, ahead, decided, c}, filled) => {
  pen.globalAlpha = ahead ? 0.12 : 0.45;
  pen.fillStyle = c.sky;
  pen.beginPath();
  pen.roundRect(label, oy, bar - 3, side - gap, 3);
  pen.fill();
  pen.globalAlpha = ahead ? 0.28 : 1;
  rows.forEach((row, i) => {
    const accepted = decided && m.onPath.has(m.raw.tree.candidate[row]);
    for (let j = 0; j <= i; j++) {
      pen.fillStyle = i < filled && m.sees(row, rows[j]) ? (accepted ? c.green : c.blue) : c.shade;
      if (cell < 8) {
        pen.fillRect(ox + j * cell, oy + i * cell, cell - gap, cell - gap);
        continue;
      }
      pen.beginPath();
      pen.roundRect(ox + j * cell, oy + i * cell, cell - gap, cell - gap, Math.min(2.5, cell / 5));
      pen.fill();
    }
  });
};

export const maskCross = ({pen, c, cell, side, gap, ox, oy}, focus, across) => {
  if (focus === undefined) return;
  pen.strokeStyle = c.ink;
  pen.lineWidth = 1.4;
  pen.strokeRect(ox - 1, oy + focus * cell - 1, side + 1, cell - gap + 2);
  pen.globalAlpha = 0.45;
  pen.strokeRect(ox + across * cell - 1, oy - 1, cell - gap + 2, side + 1);
  pen.globalAlpha = 1;
};

// Tokens beside the rows, as many as there is room for; row numbers under the columns.
export const maskLabels = ({pen, c, m, rows, cell, side, label, bar, ox, oy, decided}, focus, across, prefix) => {
  const name = row => m.label(m.raw.tree.candidate[row]);
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  let last = -Infinity;
  rows.forEach((row, i) => {
    if (i !== focus && (i - last) * cell < 10) return;
    const accepted = decided && m.onPath.has(m.raw.tree.candidate[row]),
      me = i === focus;
    if (cell < 9 && !me && (focus !== undefined || !(accepted || i === 0))) return;
    last = i;
    pen.font = `${accepted || me ? 600 : 400} ${cell < 9 ? 10 : Math.max(8, Math.min(11, cell))}px ${c.mono}`;
    pen.fillStyle = me ? c.ink : accepted ? c.green : c.soft;
    pen.fillText(clip(name(row), label > 70 ? 12 : 8), label - 5, oy + i * cell + cell / 2, label - 6);
  });
  const y = oy + side + 11,
    center = i => ox + (i + 0.4) * cell;
  pen.textAlign = 'center';
  pen.font = `10px ${c.mono}`;
  pen.fillStyle = c.soft;
  pen.fillText(prefix, Math.max(label + bar / 2 - 12, 34), y);
  if (across === undefined) {
    const every = [1, 2, 5, 10, 20].find(n => n * cell >= 22) ?? 50;
    for (let i = 0; i < rows.length; i += every) pen.fillText(String(rows[i]), center(i), y);
    return;
  }
  const text = `${rows[across]} ${clip(name(rows[across]), 14)}`,
    half = 3.1 * cellsOf(text);
  pen.font = `600 10px ${c.mono}`;
  pen.fillStyle = c.ink;
  pen.fillText(text, Math.max(label + bar + 20 + half, Math.min(ox + side - half, center(across))), y);
};

export const maskWords = (panel, m) => {
  const hit = panel.cell,
    {view} = panel;
  if (!hit || hit.column === null || hit.column === undefined) return '';
  const name = row => quote(m.label(m.raw.tree.candidate[row]));
  if (hit.column < 0) return view.say('maskPrefix', {row: name(hit.row)});
  if (hit.column === hit.row) return view.say('maskSelf', {row: name(hit.row)});
  return view.say(m.sees(hit.row, hit.column) ? 'maskYes' : 'maskNo', {row: name(hit.row), column: name(hit.column)});
};

// The mask as a drawing that stands for itself: every row and every column with its token.
export const maskSvg = view => {
  const m = view.model,
    {rows} = maskOrder(m, view.state.order === 'tree'),
    c = colours(view),
    cell = 18,
    pad = 16;
  const decided = FRAMES[view.frame.kind].stage === DECIDED,
    name = row => clip(m.label(m.raw.tree.candidate[row]), 14);
  const left = pad + 128,
    top = pad + 116,
    width = left + 26 + cell * rows.length + pad,
    height = top + cell * rows.length + pad + 24;
  const svg = svgNode('svg', {
    xmlns: 'http://www.w3.org/2000/svg',
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    'font-family': c.mono,
    'font-size': 11,
  });
  svg.append(
    svgNode('rect', {width, height, fill: c.card}),
    svgNode('rect', {
      x: left,
      y: top,
      width: 18,
      height: cell * rows.length - 2,
      rx: 4,
      fill: c.sky,
      'fill-opacity': 0.45,
    }),
  );
  rows.forEach((row, i) => {
    const accepted = decided && m.onPath.has(m.raw.tree.candidate[row]),
      x = left + 26 + cell * i,
      y = top + cell * i;
    const look = {fill: accepted ? c.green : c.soft, 'font-weight': accepted ? 600 : 400};
    svg.append(
      svgNode('text', {x: left - 8, y: y + 12, 'text-anchor': 'end', ...look}, name(row)),
      svgNode('text', {transform: `translate(${x + 12} ${top - 8}) rotate(-90)`, ...look}, name(row)),
    );
    for (let j = 0; j <= i; j++) {
      svg.append(
        svgNode('rect', {
          x: left + 26 + cell * j,
          y,
          width: cell - 2,
          height: cell - 2,
          rx: 3,
          fill: m.sees(row, rows[j]) ? (accepted ? c.green : c.blue) : c.shade,
        }),
      );
    }
  });
  svg.append(
    svgNode('text', {x: left - 8, y: height - pad, fill: c.soft}, `${view.say('prefix')} ${m.raw.prefix_length}`),
  );
  return {text: new XMLSerializer().serializeToString(svg), width, height};
};
