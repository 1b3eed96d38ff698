// The panel beside the tree: candidates by score, the mask, the rows, the paths, the draws, the cache.

// The panel that a frame shows unless the person has chosen one.
TV.PANEL_OF = {root: 'scores', expand: 'scores', select: 'scores', rerank: 'scores', flatten: 'mask', verify: 'mask',
  accept: 'mask', commit: 'cache'};

TV.Panels = class {
  constructor(view) {
    this.view = view; this.body = view.ref.panel; this.caption = view.ref.caption; this.shown = null;
    view.ref.tabs.addEventListener('click', event => {
      const tab = event.target.closest('[data-panel]');
      if (tab) view.set({panel: tab.dataset.panel === view.state.panel ? null : tab.dataset.panel});
    });
    this.canvas = TV.make('canvas', 'tv-canvas');
    this.canvas.setAttribute('role', 'img');
    this.canvas.addEventListener('pointermove', event => this.point(event));
    this.canvas.addEventListener('pointerdown', event => this.point(event));
    this.canvas.addEventListener('pointerleave', () => { this.cell = null; view.hover(null); });
    this.canvas.addEventListener('click', event => {
      this.point(event);
      if (view.state.hover !== null) view.pin(view.state.hover);
    });
    new ResizeObserver(() => { this.width = this.body.clientWidth; if (this.model) this.paint(); }).observe(this.body);
  }

  get name() {
    const kind = this.view.frame.kind, sampled = this.model.raw.accept.tests.length > 0;
    return this.view.state.panel ?? (kind === 'accept' && sampled ? 'draws' : TV.PANEL_OF[kind]);
  }

  frame(m) {
    this.model = m;
    const names = ['scores', 'mask', 'rows', 'paths', ...(m.raw.accept.tests.length ? ['draws'] : []), 'cache'];
    const t = key => this.view.t(key), name = names.includes(this.name) ? this.name : 'mask';
    const tabs = [names, name, this.view.state.panel, this.view.state.lang].join();
    if (tabs !== this.tabs) this.view.ref.tabs.replaceChildren(...names.map(key => {
      const tab = TV.make('button', `tab${key === name ? ' now' : ''}${key === this.view.state.panel ? ' held' : ''}`, t(key));
      tab.dataset.panel = key; tab.setAttribute('role', 'tab'); tab.setAttribute('aria-selected', key === name);
      return tab;
    }));
    this.tabs = tabs;
    TV.write(this.view.ref.paneltitle, t('panelTitle')[name]);
    const entered = this.view.frame.kind === 'flatten' && name === 'mask' && this.last !== `${m.index} flatten`;
    this.last = `${m.index} ${this.view.frame.kind}`;
    this.filled = Infinity;
    this.shown = name; this.cell = null;
    this.view.ref.paneltools.hidden = name !== 'mask';
    if (name === 'scores' || name === 'mask') {
      if (this.canvas.parentNode !== this.body) this.body.replaceChildren(this.canvas);
      if (entered && this.view.moves) this.fill();
    } else {
      this.body.replaceChildren(this[name](m));
      const best = this.body.querySelector('.best'), box = this.body.firstChild;
      if (best) this.view.after('best', () => { box.scrollTop = best.offsetTop - 70; });
    }
    this.paint();
  }

  // The mask appears row by row when one steps into the flatten frame.
  fill() {
    const rows = this.model.raw.tree.mask.length, start = performance.now(), model = this.model, time = 900;
    const step = now => {
      if (this.model !== model || this.view.frame?.kind !== 'flatten' || this.shown !== 'mask') { this.filled = Infinity; return; }
      this.filled = (now - start) / time * rows;
      this.paint();
      if (this.filled < rows) requestAnimationFrame(step); else { this.filled = Infinity; this.paint(); }
    };
    this.filled = 0;
    requestAnimationFrame(step);
  }

  focus(m, focus) {
    this.focused = focus;
    this.canvas.dataset.row = m.rowOf.get(focus) ?? '';
    this.paint();
    for (const row of this.body.querySelectorAll('[data-node]')) row.classList.toggle('me', Number(row.dataset.node) === focus);
    const row = m.rowOf.get(focus);
    for (const line of this.body.querySelectorAll('[data-path]')) {
      line.classList.toggle('on', row !== undefined && m.raw.tree.retrieve_indices[line.dataset.path].includes(row));
    }
  }

  paint() {
    const m = this.model, t = key => this.view.t(key);
    if (!m || !this.shown) return;
    const c = m.raw.cache;
    if (this.shown === 'scores') TV.paintScores(this, m);
    else if (this.shown === 'mask') TV.paintMask(this, m);
    else TV.write(this.caption, this.shown === 'cache'
      ? t('cacheHint')(c.length_before, c.length_after, c.kept.length, m.raw.tree.candidate.length - c.kept.length)
      : t(this.shown + 'Hint'));
  }

  point(event) {
    const at = this.canvas.getBoundingClientRect(), x = event.clientX - at.left, y = event.clientY - at.top;
    const hit = this.hitTest ? this.hitTest(x, y) : null;
    this.cell = hit;
    this.view.hover(hit ? hit.node : null);
    this.paint();
  }

  // -- tables ----------------------------------------------------------------------------------------------------

  table(className, head, rows) {
    const box = TV.make('div', 'tv-tablebox'), table = TV.make('table', className), top = TV.make('tr');
    for (const name of head) top.append(TV.make('th', name === this.view.t('sees') ? 'sr' : '', name));
    const thead = TV.make('thead'), body = TV.make('tbody');
    thead.append(top);
    body.append(...rows);
    table.append(thead, body);
    box.append(table);
    return box;
  }

  linked(row, id) {
    row.dataset.node = id;
    row.addEventListener('pointerenter', event => { if (event.pointerType !== 'touch') this.view.hover(id); });
    row.addEventListener('pointerleave', () => this.view.hover(null));
    row.addEventListener('click', () => this.view.pin(id));
    return row;
  }

  rows(m) {
    const t = m.raw.tree, w = key => this.view.t(key);
    return this.table('rows', [w('row'), w('token'), w('candidate'), w('parent'), w('position'), w('says'), w('sees')],
      t.candidate.map((id, row) => {
        const line = TV.make('tr', m.onPath.has(id) ? 'accepted' : '');
        const says = m.choice(row), has = t.parent.some((p, i) => p === row && m.tokens[t.candidate[i]] === m.raw.target.argmax[row]);
        for (const [text, kind] of [[row, ''], [m.label(id), 'tok'], [id || '–', ''], [row ? t.parent[row] : '–', ''],
          [t.position_ids[row], ''], [(has ? '✓ ' : '') + says, has ? 'tok yes' : 'tok'],
          [t.mask.map((_, i) => i).filter(i => m.sees(row, i)).join(', '), 'sr']]) line.append(TV.make('td', kind, String(text)));
        return this.linked(line, id);
      }));
  }

  paths(m) {
    const t = m.raw.tree, width = t.retrieve_indices[0].length;
    return this.table('paths', ['', ...Array.from({length: width}, (_, i) => String(i))], t.retrieve_indices.map((path, i) => {
      const line = TV.make('tr', i === m.raw.accept.row ? 'best' : '');
      line.dataset.path = i;
      line.append(TV.make('th', '', String(i)));
      path.forEach((row, column) => {
        const id = row < 0 ? null : t.candidate[row];
        const onPath = column < m.raw.accept.path.length && m.raw.accept.path[column] === row && row >= 0;
        const cell = TV.make('td', row < 0 ? 'pad' : onPath ? 'yes' : '', row < 0 ? '−1' : String(row));
        if (id !== null) { cell.title = m.label(id); cell.addEventListener('pointerenter', () => this.view.hover(id)); }
        line.append(cell);
      });
      const leaf = t.candidate[path.filter(row => row >= 0).pop()];
      line.addEventListener('pointerleave', () => this.view.hover(null));
      line.addEventListener('click', () => this.view.pin(leaf));
      return line;
    }));
  }

  draws(m) {
    const w = key => this.view.t(key), tree = m.raw.tree;
    let parent = null, left = 1;
    return this.table('draws', ['', w('token'), 'p', 'r', w('left'), ''], m.raw.accept.tests.map((test, i) => {
      if (tree.parent[test.node] !== parent) { parent = tree.parent[test.node]; left = 1; }
      const id = tree.candidate[test.node], line = TV.make('tr', test.accepted ? 'accepted' : 'refused');
      for (const [text, kind] of [[i + 1, ''], [m.label(id), 'tok'], [TV.num(test.p, 3), ''], [TV.num(test.r, 3), ''],
        [TV.num(left, 3), ''], [test.accepted ? '✓ ' + w('stays') : '✕ ' + w('falls'), 'verdict']]) line.append(TV.make('td', kind, String(text)));
      left *= 1 - test.p;
      return this.linked(line, id);
    }));
  }

  cache(m) {
    const c = m.raw.cache, kept = new Set(c.kept), w = key => this.view.t(key);
    const box = TV.make('div', 'tv-cache'), strip = TV.make('div', 'strip');
    strip.append(TV.make('div', 'prefix', `${w('cacheBefore')} ${c.length_before}`));
    m.raw.tree.candidate.forEach((id, row) => {
      const cell = TV.make('div', `cell ${kept.has(row) ? 'kept' : 'dropped'}`, kept.has(row) ? '✓' : '');
      cell.title = `${w('row')} ${row}: ${m.label(id)}`;
      strip.append(this.linked(cell, id));
    });
    const after = TV.make('div', 'strip after');
    after.append(TV.make('div', 'prefix', `${w('cacheBefore')} ${c.length_before}`));
    for (const row of c.kept) {
      const id = m.raw.tree.candidate[row];
      after.append(this.linked(TV.make('div', 'cell kept wide', m.label(id)), id));
    }
    const arrow = TV.make('div', 'arrow', '↓');
    box.append(strip, arrow, after);
    return box;
  }
};
