// The two canvases: the mask, and every candidate by score. Colours come from the style sheet, so themes just work.
// What does not follow the pointer is drawn once and kept as a picture.

TV.colours = view => {
  const style = getComputedStyle(view.ref.root), get = name => style.getPropertyValue(name).trim();
  return {ink: get('--tv-ink'), soft: get('--tv-soft'), line: get('--tv-line'), blue: get('--tv-blue'), sky: get('--tv-sky'),
    green: get('--tv-green'), verm: get('--tv-verm'), orange: get('--tv-orange'), shade: get('--tv-shade'),
    purple: get('--tv-purple'), card: get('--tv-card'), mono: get('--tv-mono') || 'monospace'};
};

TV.pen = (panel, height) => {
  const {canvas, view} = panel, width = panel.body.clientWidth, ratio = Math.min(3, devicePixelRatio || 1);
  if (!width) return null;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    canvas.style.height = height + 'px';
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return {pen, width, c: view.palette ??= TV.colours(view)};
};

// The kept picture of a canvas; drawn anew by `draw` when `key` changes.
TV.base = (panel, key, draw) => {
  const {canvas} = panel, kept = panel.kept ??= document.createElement('canvas');
  const whole = `${key} ${canvas.width} ${canvas.height} ${panel.view.ref.root.classList.contains('dark')}`;
  if (panel.keptKey !== whole) {
    panel.keptKey = whole;
    kept.width = canvas.width; kept.height = canvas.height;
    const pen = kept.getContext('2d'), from = canvas.getContext('2d');
    pen.setTransform(from.getTransform());
    draw(pen);
  }
  const pen = canvas.getContext('2d'), at = pen.getTransform();
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.drawImage(kept, 0, 0);
  pen.setTransform(at);
};

TV.paintMask = (panel, m) => {
  const {view} = panel, rows = m.raw.tree.mask.length, kind = view.frame.kind;
  const room = panel.body.clientWidth, label = room > 300 ? 84 : 62, bar = 16;
  const cell = Math.max(2, Math.min(20, (Math.min(room, 460) - label - bar - 6) / rows)), side = cell * rows;
  const got = TV.pen(panel, Math.ceil(side) + 25);
  if (!got) return;
  const {pen, c} = got, ox = label + bar + 4, oy = 6, gap = cell > 8 ? 1.4 : cell > 5 ? 0.8 : 0.4;
  const ahead = ['root', 'expand', 'select', 'rerank'].includes(kind), decided = kind === 'accept' || kind === 'commit';
  const focus = m.rowOf.get(panel.focused), column = panel.cell?.column;
  const filled = Math.min(rows, panel.filled ?? rows);
  TV.base(panel, `mask ${m.index} ${ahead} ${decided} ${Math.ceil(filled)}`, base => {
    base.globalAlpha = ahead ? 0.12 : 0.45;
    base.fillStyle = c.sky;
    base.beginPath(); base.roundRect(label, oy, bar - 3, side - gap, 3); base.fill();
    base.globalAlpha = ahead ? 0.28 : 1;
    for (let i = 0; i < rows; i++) {
      const accepted = decided && m.onPath.has(m.raw.tree.candidate[i]);
      for (let j = 0; j <= i; j++) {
        const on = i < filled && m.sees(i, j);
        base.fillStyle = on ? accepted ? c.green : c.blue : c.shade;
        if (cell < 8) { base.fillRect(ox + j * cell, oy + i * cell, cell - gap, cell - gap); continue; }
        base.beginPath();
        base.roundRect(ox + j * cell, oy + i * cell, cell - gap, cell - gap, Math.min(2.5, cell / 5)); base.fill();
      }
    }
  });
  if (focus !== undefined) {
    pen.strokeStyle = c.ink; pen.lineWidth = 1.4;
    pen.strokeRect(ox - 1, oy + focus * cell - 1, side + 1, cell - gap + 2);
    pen.globalAlpha = 0.45;
    const j = column ?? focus;
    pen.strokeRect(ox + j * cell - 1, oy - 1, cell - gap + 2, side + 1);
    pen.globalAlpha = 1;
  }
  const size = Math.max(8, Math.min(11, cell));
  pen.textAlign = 'right'; pen.textBaseline = 'middle';
  let last = -Infinity;
  for (let i = 0; i < rows; i++) {
    if (i !== focus && (i - last) * cell < 10) continue;
    const id = m.raw.tree.candidate[i], accepted = decided && m.onPath.has(id), me = i === focus;
    if (cell < 9 && !me && (focus !== undefined || !(accepted || i === 0))) continue;
    last = i;
    pen.font = `${accepted || me ? 600 : 400} ${cell < 9 ? 10 : size}px ${c.mono}`;
    pen.fillStyle = me ? c.ink : accepted ? c.green : c.soft;
    pen.fillText(TV.clip(m.label(id), label > 70 ? 12 : 8), label - 5, oy + i * cell + cell / 2, label - 6);
  }
  pen.textAlign = 'center'; pen.font = `10px ${c.mono}`; pen.fillStyle = c.soft;
  pen.fillText(`${view.t('prefix')} ${m.raw.prefix_length}`, Math.max(label + bar / 2, 34), oy + side + 11);
  panel.hitTest = (x, y) => {
    const i = Math.floor((y - oy) / cell), j = Math.floor((x - ox) / cell);
    if (i < 0 || i >= rows || j >= rows) return null;
    return {node: m.raw.tree.candidate[i], row: i, column: x < label + bar ? (x >= label ? -1 : null) : j};
  };
  TV.write(panel.caption, TV.maskWords(panel, m) || view.t(ahead ? 'notYet' : 'maskHint'));
  TV.put(panel.canvas, 'aria-label', panel.caption.textContent);
};

TV.maskWords = (panel, m) => {
  const hit = panel.cell, t = key => panel.view.t(key);
  if (!hit || hit.column === null || hit.column === undefined) return '';
  const name = row => TV.quote(m.label(m.raw.tree.candidate[row]));
  if (hit.column < 0) return t('maskPrefix')(name(hit.row));
  if (hit.column === hit.row) return t('maskSelf')(name(hit.row));
  return t(m.sees(hit.row, hit.column) ? 'maskYes' : 'maskNo')(name(hit.row), name(hit.column));
};

TV.paintScores = (panel, m) => {
  const {view} = panel, now = view.state.frame, frame = view.frame, height = 286;
  const got = TV.pen(panel, height);
  if (!got) return;
  const {pen, width, c} = got, left = 44, right = 8, top = 8, bottom = 22;
  if (panel.thereKey !== `${m.index} ${now}`) {
    panel.thereKey = `${m.index} ${now}`;
    panel.there = m.ranked.filter(id => m.state(now, id) !== '.');
  }
  const there = panel.there, cutting = !['root', 'expand', 'select'].includes(frame.kind), cutoff = m.raw.tree.cutoff;
  const low = Math.min(-1, m.score(m.ranked[m.count - 1])), floor = Math.max(low, cutoff * 2.2 - 1.5);
  const px = i => left + (there.length > 1 ? i / (there.length - 1) : 0.5) * (width - left - right);
  const py = score => top + (Math.max(score, floor) / floor) * (height - top - bottom);
  TV.base(panel, `scores ${m.index} ${now} ${view.state.lang}`, base => {
    base.font = `10px ${c.mono}`; base.textBaseline = 'middle'; base.textAlign = 'right';
    const step = [0.5, 1, 2, 5, 10].find(s => -floor / s <= 6) || 20;
    for (let s = 0; s >= floor; s -= step) {
      base.strokeStyle = c.line; base.lineWidth = 1;
      base.beginPath(); base.moveTo(left, py(s)); base.lineTo(width - right, py(s)); base.stroke();
      base.fillStyle = c.soft; base.fillText(TV.num(s, step < 1 ? 1 : 0), left - 6, py(s));
    }
    const tone = {s: c.soft, e: c.purple, k: c.blue, p: c.soft, a: c.green, x: c.verm};
    there.forEach((id, i) => {
      const state = m.state(now, id), strong = state !== 's' && state !== 'p';
      const fresh = frame.kind === 'expand' && m.depth(id) - 1 === frame.layer;
      base.fillStyle = fresh ? c.ink : tone[state]; base.globalAlpha = strong || fresh ? 1 : 0.5;
      if (!strong) { base.fillRect(px(i) - 1.5, py(m.score(id)) - 1.5, 3, 3); return; }
      base.beginPath(); base.arc(px(i), py(m.score(id)), 3, 0, 7); base.fill();
    });
    base.globalAlpha = 1;
    if (cutting && there.length) {
      const kept = m.raw.tree.candidate.length - 1, x = kept < there.length ? (px(kept - 1) + px(kept)) / 2 : width - right;
      base.strokeStyle = c.verm; base.setLineDash([5, 4]); base.lineWidth = 1.4;
      base.beginPath(); base.moveTo(left, py(cutoff)); base.lineTo(width - right, py(cutoff)); base.moveTo(x, top); base.lineTo(x, height - bottom); base.stroke();
      base.setLineDash([]);
      base.fillStyle = c.verm; base.textAlign = 'right'; base.font = `600 11px ${c.mono}`;
      base.fillText(`${view.t('cut')} ${TV.num(cutoff)}`, width - right, py(cutoff) - 9);
    }
    base.font = `10px ${c.mono}`; base.fillStyle = c.soft; base.textAlign = 'center';
    if (there.length) base.fillText(`${view.t('rank')} 1 … ${there.length}`, (left + width) / 2, height - 8);
  });
  pen.textBaseline = 'middle';
  const at = there.indexOf(panel.focused);
  if (at >= 0) {
    pen.strokeStyle = c.ink; pen.lineWidth = 1.6;
    pen.beginPath(); pen.arc(px(at), py(m.score(panel.focused)), 6, 0, 7); pen.stroke();
    pen.fillStyle = c.ink; pen.font = `600 11.5px ${c.mono}`; pen.textAlign = px(at) > width / 2 ? 'right' : 'left';
    pen.fillText(TV.clip(m.label(panel.focused), 16), px(at) + (px(at) > width / 2 ? -11 : 11), py(m.score(panel.focused)) - 9);
  }
  panel.hitTest = (x, y) => {
    if (!there.length || x < left - 8) return null;
    const i = Math.round((x - left) / (width - left - right) * (there.length - 1));
    const node = there[Math.max(0, Math.min(there.length - 1, i))];
    return node === undefined ? null : {node};
  };
  TV.write(panel.caption, view.t('scoreHint')(there.length, cutting ? TV.num(cutoff) : null));
  TV.put(panel.canvas, 'aria-label', panel.caption.textContent);
};
