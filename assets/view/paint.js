// What the canvases share, and every candidate by score. Colours come from the style sheet, so themes just work.
// What does not follow the pointer is drawn once and kept as a picture.

import {put, write} from './dom.js';
import {DRAFTING, FRAMES, STATES} from './frames.js';
import {clip, num} from './text.js';

export const colours = view => {
  const style = getComputedStyle(view.ref.root),
    get = name => style.getPropertyValue(name).trim();
  return {
    ink: get('--tv-ink'),
    soft: get('--tv-soft'),
    line: get('--tv-line'),
    blue: get('--tv-blue'),
    sky: get('--tv-sky'),
    green: get('--tv-green'),
    verm: get('--tv-verm'),
    orange: get('--tv-orange'),
    shade: get('--tv-shade'),
    purple: get('--tv-purple'),
    card: get('--tv-card'),
    mono: get('--tv-mono') || 'monospace',
  };
};

export const penOf = (panel, height) => {
  const {canvas, view, width} = panel,
    ratio = Math.min(3, devicePixelRatio || 1);
  if (!width) return null;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + 'px';
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return {pen, width, c: (view.palette ??= colours(view))};
};

// What stands under what follows the pointer: drawn where `key` has changed, and kept as a picture once it is asked
// for again.
export const onBase = (panel, key, draw) => {
  const {canvas} = panel,
    pen = canvas.getContext('2d'),
    at = pen.getTransform();
  const whole = `${key} ${canvas.width} ${canvas.height} ${panel.view.ref.root.classList.contains('dark')}`;
  if (panel.keptKey !== whole) {
    panel.keptKey = whole;
    panel.kept = null;
    draw(pen);
    return;
  }
  if (!panel.kept) {
    panel.kept = document.createElement('canvas');
    panel.kept.width = canvas.width;
    panel.kept.height = canvas.height;
    const own = panel.kept.getContext('2d');
    own.setTransform(at);
    draw(own);
  }
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.drawImage(panel.kept, 0, 0);
  pen.setTransform(at);
};

export const paintScores = (panel, m) => {
  const {view} = panel,
    now = view.state.frame,
    frame = view.frame,
    height = Math.min(460, panel.height - 6);
  const got = penOf(panel, height);
  if (!got) return;
  const {pen, width, c} = got,
    left = 44,
    right = 8,
    top = 8,
    bottom = 22;
  const there = m.there(now),
    ranked = FRAMES[frame.kind].stage > DRAFTING,
    cutting = ranked && m.cutting,
    cutoff = m.raw.tree.cutoff;
  const low = Math.min(-1, m.score(m.ranked[m.count - 1])),
    floor = Math.max(low, cutoff * 2.2 - 1.5);
  const px = i => left + (there.length > 1 ? i / (there.length - 1) : 0.5) * (width - left - right);
  const py = score => top + (Math.max(score, floor) / floor) * (height - top - bottom);
  onBase(panel, `scores ${m.data.text.length} ${m.index} ${now} ${view.state.lang}`, base => {
    base.font = `10px ${c.mono}`;
    base.textBaseline = 'middle';
    base.textAlign = 'right';
    const step = [0.5, 1, 2, 5, 10].find(s => -floor / s <= 6) || 20;
    for (let s = 0; s >= floor; s -= step) {
      base.strokeStyle = c.line;
      base.lineWidth = 1;
      base.beginPath();
      base.moveTo(left, py(s));
      base.lineTo(width - right, py(s));
      base.stroke();
      base.fillStyle = c.soft;
      base.fillText(num(s, step < 1 ? 1 : 0), left - 6, py(s));
    }
    there.forEach((id, i) => {
      const {tone, thin} = STATES[m.state(now, id)];
      const fresh = frame.kind === 'expand' && m.layer(id) === frame.layer;
      base.fillStyle = fresh ? c.ink : c[tone];
      base.globalAlpha = thin && !fresh ? 0.5 : 1;
      if (thin) {
        base.fillRect(px(i) - 1.5, py(m.score(id)) - 1.5, 3, 3);
        return;
      }
      base.beginPath();
      base.arc(px(i), py(m.score(id)), 3, 0, 7);
      base.fill();
    });
    base.globalAlpha = 1;
    if (cutting) {
      const kept = m.raw.tree.candidate.length - 1,
        x = (px(kept - 1) + px(kept)) / 2;
      base.strokeStyle = c.verm;
      base.setLineDash([5, 4]);
      base.lineWidth = 1.4;
      base.beginPath();
      base.moveTo(left, py(cutoff));
      base.lineTo(width - right, py(cutoff));
      base.moveTo(x, top);
      base.lineTo(x, height - bottom);
      base.stroke();
      base.setLineDash([]);
      base.fillStyle = c.verm;
      base.textAlign = 'right';
      base.font = `600 11px ${c.mono}`;
      base.fillText(`${view.say('cut')} ${num(cutoff)}`, width - right, py(cutoff) - 9);
    }
    base.font = `10px ${c.mono}`;
    base.fillStyle = c.soft;
    base.textAlign = 'center';
    if (there.length) base.fillText(`${view.say('rank')} 1 … ${there.length}`, (left + width) / 2, height - 8);
  });
  pen.textBaseline = 'middle';
  const at = there.indexOf(panel.focused);
  if (at >= 0) {
    pen.strokeStyle = c.ink;
    pen.lineWidth = 1.6;
    pen.beginPath();
    pen.arc(px(at), py(m.score(panel.focused)), 6, 0, 7);
    pen.stroke();
    pen.fillStyle = c.ink;
    pen.font = `600 11.5px ${c.mono}`;
    pen.textAlign = px(at) > width / 2 ? 'right' : 'left';
    pen.fillText(
      clip(m.label(panel.focused), 16),
      px(at) + (px(at) > width / 2 ? -11 : 11),
      py(m.score(panel.focused)) - 9,
    );
  }
  panel.hitTest = (x, y) => {
    if (!there.length || x < left - 8) return null;
    const i = Math.round(((x - left) / (width - left - right)) * (there.length - 1));
    const node = there[Math.max(0, Math.min(there.length - 1, i))];
    return node === undefined ? null : {node};
  };
  const whole = m.count ? (cutting ? 'scoreHint' : 'scoreHint.all') : 'scoreHint.none';
  const hint = ranked ? whole : 'scoreHint.soFar';
  write(panel.caption, view.say(hint, {n: there.length, cut: num(cutoff)}));
  put(panel.canvas, 'aria-label', panel.caption.textContent);
};
