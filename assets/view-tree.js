// The tree in SVG: a box for every node that was kept, expanded or is the bonus; a thin fan for the other candidates.
// Built once per round. A step changes classes and small texts only, so nothing jumps.

TV.GLYPH = {a: '✓', x: '✕', b: '+', e: '▸'};
TV.READABLE = 0.8;  // of the natural size
TV.BOX = {height: 21, pitch: 25.5, gap: 30, cell: 7.25, cells: 10, side: 44, pad: 9};

TV.Tree = class {
  constructor(view) {
    this.view = view; this.svg = view.ref.tree; this.box = view.ref.treebox;
    this.path = new Set(); this.zoom = {k: 1, x: 0, y: 0}; this.touched = false; this.nodes = new Map();
    this.svg.setAttribute('role', 'tree');
    this.listen();
    new ResizeObserver(() => {
      const size = `${this.box.clientWidth} ${this.box.clientHeight}`;
      if (!this.box.clientWidth || size === this.seen || !this.model) return;
      this.seen = size;
      this.round(this.model);  // columns follow the width
      if (this.view.model === this.model) this.view.draw('frame');
    }).observe(this.box);
  }

  // -- build -----------------------------------------------------------------------------------------------------

  round(m) {
    this.model = m; this.nodes.clear();
    this.svg.setAttribute('aria-label', `${this.view.t('tree')}, ${this.view.t('round')} ${m.index + 1}`);
    this.world = TV.svg('g', {class: 'world'});
    const fans = TV.svg('g', {class: 'fans'}), edges = TV.svg('g', {class: 'edges'}), boxes = TV.svg('g', {class: 'boxes'});
    this.measure(m); this.spread();
    for (const [id] of m.place) {
      const b = this.at(id), g = TV.svg('g', {class: 'n', 'data-node': id, role: 'treeitem', tabindex: id ? -1 : 0,
        'aria-level': m.depth(id) + 1, transform: `translate(${b.x} ${b.y})`});
      const text = TV.svg('text', {class: 'label', x: TV.BOX.pad, y: 14.5});
      const side = TV.svg('text', {class: 'side', x: b.w - 7, y: 14.5, 'text-anchor': 'end'});
      g.append(TV.svg('rect', {width: b.w, height: TV.BOX.height, rx: 7}), text, side);
      boxes.append(g);
      let edge = null;
      if (id) edges.append(edge = TV.svg('path', {class: 'e', d: this.curve(m.parent[id], id)}));
      this.nodes.set(id, {g, text, side, edge, width: b.w});
    }
    this.fans = [];
    for (const [parent, children] of m.children) {
      const thin = children.filter(id => !m.isBox(id));
      if (thin.length && m.isBox(parent)) {
        const g = TV.svg('path', {class: 'fan', 'data-fan': parent, d: this.fan(parent, thin)});
        fans.append(g); this.fans.push({g, layer: m.depth(parent)});
      }
    }
    this.world.append(fans, edges, boxes);
    this.seen = `${this.box.clientWidth} ${this.box.clientHeight}`;
    if (!this.touched || !this.fitted) this.fit(); else this.apply();
  }

  measure(m) {
    const {cell, cells, side, pad, gap, pitch} = TV.BOX, width = [];
    let low = 0;
    for (const [id, p] of m.place) {
      const w = pad + cell * Math.min(TV.cells(m.label(id)) + (id === m.bonus ? 2 : 0), cells + 2) + side;
      width[p.depth] = Math.max(width[p.depth] || 72, w); low = Math.max(low, p.y);
    }
    this.w = width;
    this.size = {w: 0, h: (low + 1) * pitch};
    this.columns(gap);
  }

  columns(gap) {
    let x = 0;
    this.x = this.w.map(w => { const here = x; x += w + gap; return here; });
    this.size.w = x - gap;
  }

  // Where the height decides the scale, the columns spread over the width that is left.
  spread() {
    const {gap} = TV.BOX, width = this.box.clientWidth - 8;
    this.columns(gap);
    if (!this.w.length || width < 620) return;
    const k = Math.max(TV.READABLE, Math.min(1.12, (this.box.clientHeight - 8) / this.size.h, width / this.size.w));
    this.columns(Math.min(74, gap + Math.max(0, width / k - this.size.w) / Math.max(1, this.w.length - 1)));
  }

  at(id) {
    const p = this.model.place.get(id);
    return {x: this.x[p.depth], y: p.y * TV.BOX.pitch, w: this.w[p.depth]};
  }

  curve(from, to) {
    const a = this.at(from), b = this.at(to), y1 = a.y + TV.BOX.height / 2, y2 = b.y + TV.BOX.height / 2;
    const x1 = a.x + a.w, bend = (b.x - x1) * 0.55;
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${b.x - bend} ${y2} ${b.x} ${y2}`;
  }

  // A hair for every thin candidate; the likelier, the longer.
  fan(parent, thin) {
    const b = this.at(parent), x = b.x + b.w, y = b.y + TV.BOX.height / 2, spread = Math.min(1.25, 0.17 * thin.length);
    return thin.map((id, i) => {
      const angle = thin.length > 1 ? -spread + 2 * spread * i / (thin.length - 1) : 0;
      const length = 7 + 20 * Math.sqrt(Math.exp(this.model.logProb(id)));
      const dx = Math.cos(angle) * length, dy = Math.sin(angle) * length;
      return `M${x + 1} ${y}l${dx.toFixed(1)} ${dy.toFixed(1)}m-.9 0a.9 .9 0 1 0 1.8 0a.9 .9 0 1 0 -1.8 0`;
    }).join('');
  }

  // -- a step ----------------------------------------------------------------------------------------------------

  frame(m, i) {
    const frame = m.frames[i], focus = new Set(frame.focus), all = frame.focus.length > m.place.size / 2;
    const drafting = ['root', 'expand', 'select'].includes(frame.kind);
    this.svg.dataset.kind = frame.kind;
    for (const [id, node] of this.nodes) {
      const state = m.state(i, id), hidden = state === '.', look = hidden ? 'none' : state, lit = !all && focus.has(id);
      const hit = frame.kind === 'verify' && m.wanted(id) ? ' hit' : '';
      TV.put(node.g, 'class', `n s-${look}${lit ? ' lit' : ''}`);
      if (node.edge) TV.put(node.edge, 'class', `e s-${look}${lit && drafting ? ' lit' : ''}${hit}`);
      TV.put(node.g, 'aria-hidden', hidden);
      if (hidden) continue;
      const glyph = TV.GLYPH[state] && !(state === 'e' && frame.kind === 'expand' && !lit) ? TV.GLYPH[state] + ' ' : '';
      const side = this.side(m, frame, id), key = glyph + side;
      if (node.key !== key) {
        node.key = key;
        const room = Math.floor((node.width - TV.BOX.pad - 9 - TV.cells(side) * 6.4) / TV.BOX.cell);
        TV.write(node.text, TV.clip(glyph + m.label(id), room));
        TV.write(node.side, side);
      }
      TV.put(node.g, 'aria-label', `${m.label(id)}, ${this.view.t('state')[state]}, ${side}`);
    }
    this.path = new Set(); this.marked = null; this.svg.classList.remove('focused');  // the classes were written anew
    for (const fan of this.fans) {
      const there = frame.layer === null ? frame.kind !== 'root' : fan.layer <= frame.layer;
      const fresh = frame.kind === 'expand' && fan.layer === frame.layer;
      TV.put(fan.g, 'class', `fan${there ? '' : ' absent'}${fresh ? ' fresh' : ''}${drafting ? '' : ' faint'}`);
    }
    if (this.world.parentNode !== this.svg) this.svg.replaceChildren(this.world);  // whole, so that nothing fades in
  }

  // What stands at the right of a box, by frame.
  side(m, frame, id) {
    const unit = TV.unitOf(frame.kind, m), row = m.rowOf.get(id);
    if (unit === 'choice') return row === undefined ? '' : '→' + TV.clip(m.choice(row), 6);
    if (id === 0 || id === m.bonus) return unit === 'row' && id === 0 ? '0' : '';
    if (unit === 'score') return TV.num(m.score(id));
    if (unit === 'row') return row === undefined ? '' : String(row);
    if (unit === 'target') return row === undefined ? '' : TV.short(m.raw.target.token_prob[row]);
    return TV.short(Math.exp(m.logProb(id)));
  }

  // Only what changes is touched.
  focus(m, focus, pin) {
    const path = new Set(focus === null ? [] : m.path(focus)), turn = (id, name, on) => {
      const node = this.nodes.get(id);
      if (!node) return;
      node.g.classList.toggle(name, on);
      if (name === 'on' && node.edge) node.edge.classList.toggle(name, on);
      if (name === 'pin') node.g.setAttribute('aria-selected', on);
    };
    for (const id of this.path) if (!path.has(id)) turn(id, 'on', false);
    for (const id of path) if (!this.path.has(id)) turn(id, 'on', true);
    const [me, pinned] = this.marked || [null, null];
    if (me !== focus) { turn(me, 'me', false); turn(focus, 'me', true); }
    if (pinned !== pin) { turn(pinned, 'pin', false); turn(pin, 'pin', true); }
    if (pinned !== pin && (pinned === null) !== (pin === null)) this.svg.classList.toggle('focused', pin !== null);
    this.path = path; this.marked = [focus, pin];
  }

  // -- zoom and pan ----------------------------------------------------------------------------------------------

  fit(whole = false) {
    if (!this.size) return;
    const width = this.box.clientWidth;
    const height = this.box.clientHeight;
    if (!width || !height) return;
    const least = whole ? 0 : TV.READABLE;  // readable first: what does not fit is panned
    const k = Math.max(least, Math.min(1.12, (width - 8) / this.size.w, (height - 8) / this.size.h));
    this.zoom = {k, x: k * this.size.w > width ? 6 : (width - k * this.size.w) / 2, y: (height - k * this.size.h) / 2};
    if (k * this.size.h > height) {  // the accepted path in the middle, as far as the ends of the tree allow
      const m = this.model, end = this.at(m.bonus).y, middle = (this.at(0).y + 2 * end) / 3;
      this.zoom.y = Math.min(4, Math.max(height - 4 - k * this.size.h, height / 2 - k * middle));
    }
    this.whole = whole; this.touched = false; this.fitted = true;
    this.apply();
  }

  apply() {
    const {k, x, y} = this.zoom;
    this.world.setAttribute('transform', `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${k.toFixed(4)})`);
  }

  scale(factor, cx = this.box.clientWidth / 2, cy = this.box.clientHeight / 2) {
    const k = Math.max(0.2, Math.min(4, this.zoom.k * factor)), f = k / this.zoom.k;
    this.zoom = {k, x: cx - (cx - this.zoom.x) * f, y: cy - (cy - this.zoom.y) * f};
    this.touched = true;
    this.apply();
  }

  // Brings a node into view if it is outside.
  reveal(id) {
    if (!this.nodes.has(id)) return;
    const b = this.at(id), {k} = this.zoom, width = this.box.clientWidth, height = this.box.clientHeight;
    const left = this.zoom.x + k * b.x, top = this.zoom.y + k * b.y;
    if (left < 0 || left + k * b.w > width) this.zoom.x = width / 2 - k * (b.x + b.w / 2);
    if (top < 0 || top + k * TV.BOX.height > height) this.zoom.y = height / 2 - k * b.y;
    this.apply();
  }

  listen() {
    const pointers = new Map();
    let moved = 0, spread = 0;
    const local = event => {
      const at = this.svg.getBoundingClientRect();
      return [event.clientX - at.left, event.clientY - at.top];
    };
    this.svg.addEventListener('wheel', event => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.scale(Math.exp(-event.deltaY * 0.0035), ...local(event));
    }, {passive: false});
    this.svg.addEventListener('pointerdown', event => {
      pointers.set(event.pointerId, local(event)); moved = 0; spread = 0;
    });
    this.svg.addEventListener('pointermove', event => {
      const last = pointers.get(event.pointerId);
      if (!last) return;
      const now = local(event), dx = now[0] - last[0], dy = now[1] - last[1];
      moved += Math.abs(dx) + Math.abs(dy);
      if (moved < 5) return;
      if (!this.svg.hasPointerCapture(event.pointerId)) this.svg.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, now);
      if (pointers.size === 2) {
        const [a, b] = [...pointers.values()], wide = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (spread) this.scale(wide / spread, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
        spread = wide;
      } else {
        this.zoom.x += dx; this.zoom.y += dy; this.touched = true;
        this.apply();
      }
    });
    const up = event => { pointers.delete(event.pointerId); spread = 0; };
    this.svg.addEventListener('pointerup', up);
    this.svg.addEventListener('pointercancel', up);
    this.svg.addEventListener('pointerover', event => {
      if (event.pointerType !== 'touch' && !pointers.size) this.view.hover(this.hit(event.target));
    });
    this.svg.addEventListener('pointerleave', () => this.view.hover(null));
    this.svg.addEventListener('click', event => {
      if (moved >= 5) return;
      const id = this.hit(event.target);
      if (id !== null) this.view.pin(id); else this.view.set({pin: null});
    });
    this.svg.addEventListener('focusin', event => {
      const id = this.hit(event.target);
      if (id !== null && event.target.matches(':focus-visible')) this.view.hover(id);
    });
    this.svg.addEventListener('focusout', () => this.view.hover(null));
  }

  hit(target) {
    const g = target.closest('[data-node], [data-fan]');
    return g && this.svg.contains(g) ? Number(g.dataset.node ?? g.dataset.fan) : null;
  }
};

// Writes to the page only what is not there yet: most of a step changes little.
TV.put = (node, name, value) => { if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value); };
TV.write = (node, text) => { if (node.textContent !== text) node.textContent = text; };

TV.unitOf = (kind, m) => ({root: 'p', expand: 'p', select: 'score', rerank: 'score', flatten: 'row', verify: 'choice',
  accept: 'target', commit: 'row'})[kind];
TV.short = p => p >= 0.995 ? '1.0' : p < 0.005 ? '.00' : p.toFixed(2).slice(1);
