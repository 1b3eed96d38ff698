// What is known of one node, the sentence of the frame, and the source of its step.

TV.Details = class {
  constructor(view) {
    this.view = view; this.box = view.ref.details;
    this.box.addEventListener('click', event => {  // no hover here: it would change what is under the pointer
      const link = event.target.closest('[data-node]');
      if (link) view.pin(Number(link.dataset.node));
    });
  }

  // Waits for the frame that is painted next, so that a pointer passing over many tokens costs one.
  focus(m, focus, pin) { this.view.after('details', () => this.show(m, focus, pin)); }

  show(m, focus, pin) {
    const shown = focus ?? m.page.frames[this.view.state.frame].focus[0] ?? 0;
    const key = `${m.data.text.length} ${m.index} ${this.view.state.frame} ${shown} ${pin} ${focus === null} ${this.view.state.lang}`;
    if (key === this.key) return;
    this.key = key;
    TV.fill(this.box, this.rows(m, shown));
  }

  rows(m, id) {
    const d = this.view.t('d'), now = this.view.state.frame, row = m.rowOf.get(id), state = m.state(now, id);
    const kind = this.view.frame.kind, verified = ['verify', 'accept', 'commit'].includes(kind);
    const ranked = verified || kind === 'rerank' || kind === 'flatten', decided = kind === 'accept' || kind === 'commit';
    const strong = text => ['b', {}, text], soft = text => ['span', {class: 'soft'}, text];
    const lines = [], line = (...parts) => lines.push(['p', {}, ...parts]);
    let bars = ['div', {class: 'tv-probs none', 'aria-hidden': true}, TV.KEEP];  // out of sight, for the next frame
    if (id === 0) line(strong(d.root));
    if (id === m.bonus) line(strong(d.bonus));
    if (m.candidate(id)) {
      const rank = m.rank.get(id), cut = TV.num(m.raw.tree.cutoff), kept = row !== undefined;
      if (ranked) {
        line(strong(kept ? d.keptWord : d.prunedWord), ', ', kept ? d.kept(rank, m.count, cut)
          : m.score(id) >= m.raw.tree.cutoff ? d.cutTie(rank, m.count, cut) : d.cut(rank, m.count, cut));
      } else {
        const there = m.there(now);
        line(strong(state === 'e' ? d.expandedWord : d.scoredWord), ', ', d.soFar(there.indexOf(id) + 1, there.length));
      }
      const path = m.path(id).slice(1), sum = path.map((node, i) => (i ? '\u2212 ' : '\u2212') + TV.num(-m.logProb(node))).join(' ');
      const exact = path.reduce((n, node) => n + Math.round(m.logProb(node) * 100), 0) === Math.round(m.score(id) * 100);
      line(soft(path.length > 1 ? `${d.sum} ${sum} ${exact ? '=' : '≈'} ` : `${d.sum} `), strong(TV.num(m.score(id))));
      const target = verified && row !== undefined ? m.raw.target.token_prob[row] : null;
      line(soft(`${d.head} `), strong(Math.exp(m.logProb(id)).toFixed(2)), ...(target === null ? [] : [soft(`, ${d.target} `), strong(target.toFixed(2))]));
      if (ranked && row !== undefined) line(soft(d.row(id, row)), soft(`, ${d.position} ${m.raw.prefix_length} + ${m.depth(id)} = `), strong(String(m.raw.tree.position_ids[row])));
      else line(soft(`${d.onlyCandidate(id)}, ${d.layer(m.raw.candidates.layer[id - 1])}`));
      if (ranked && row !== undefined) line(soft(`${d.looks} `), this.chain(m, m.path(id)), soft(` ${d.plusPrefix}`));
      if (decided && row !== undefined) line(this.verdict(m, id, row));
    } else if (id === 0 && ranked) {
      line(soft(`${this.view.t('row')} 0, ${d.position} `), strong(String(m.raw.tree.position_ids[0])));
    }
    if (verified && row !== undefined) bars = this.bars(d.top, m.raw.target.top[row].map(([token, p]) => ({
      label: this.view.data.label(token), p, id: m.raw.tree.candidate.find((c, i) => m.raw.tree.parent[i] === row && m.tokens[c] === token)})));
    const children = (m.children.get(id) || []).filter(child => m.state(now, child) !== '.');
    if (!verified && children.length) bars = this.bars(d.children(children.length), children.map(child => ({
      label: m.label(child), p: Math.exp(m.logProb(child)), id: child, state: m.state(now, child)})));
    const idle = this.view.state.pin === null && this.view.state.hover === null;
    return [['div', {class: 'tv-cardhead'},
      ['h2', {class: 'node'}, ['i', {class: `swatch s-${state}`}], ['bdi', {class: 'tok'}, TV.quote(m.label(id))]],
      ['span', {class: 'tv-unit'}, `${d.id} ${m.tokens[id]}`]], ['div', {}, ...lines], bars,
      ['p', {class: idle ? 'hint' : 'hint none', 'aria-hidden': !idle}, this.view.t('hoverNode')]];
  }

  verdict(m, id, row) {
    const d = this.view.t('d'), test = m.tests.get(id), parent = m.raw.tree.parent[row];
    const say = (kind, text) => ['b', {class: kind}, text];
    if (test) return test.accepted ? say('yes', '✓ ' + d.drawIn(TV.num(test.r), TV.num(test.p))) : say('no', '✕ ' + d.drawOut(TV.num(test.r), TV.num(test.p)));
    if (m.onPath.has(id)) return say('yes', '✓ ' + d.accepted);
    const choice = TV.quote(m.choice(parent));
    if (m.raw.accept.draws.length) return say('', d.sampledOff);
    if (parent === m.raw.accept.bonus_from) return say('no', '✕ ' + d.mismatch(choice));
    return say('', m.tokens[id] === m.raw.target.argmax[parent] ? d.offPathMatch : d.offPath(choice));
  }

  chain(m, ids) {
    return ['span', {class: 'chain'}, ...ids.flatMap(id => [['bdi', {class: 'tok link', 'data-node': id}, m.label(id)], ' '])];
  }

  bars(title, items) {
    return ['div', {class: 'tv-probs'}, ['p', {class: 'soft'}, title], ...items.map(({label, p, id, state}) => {
      const there = id !== undefined, width = `width: ${Math.max(0.5, p * 100).toFixed(2)}%`;
      return ['div', {class: `prob${there ? ' link' : ''} s-${state || (there ? 'k' : '')}`, ...(there ? {'data-node': id} : {})},
        ['bdi', {class: 'tok'}, TV.clip(label, 13)], ['span', {class: 'track'}, ['i', {style: width}]], ['span', {class: 'value'}, p.toFixed(2)]];
    })];
  }
};

TV.Saying = class {
  constructor(view) {
    this.view = view; this.box = view.ref.say; this.code = view.ref.code; this.listings = new Map();
    TV.link(view, this.box);
  }

  frame(m, i) {
    const frame = m.frames[i];
    const parts = frame.say[this.view.state.lang];
    TV.fill(this.box, parts.map(part => typeof part === 'string' ? part
      : ['b', {class: `tok link s-${m.state(i, part[1])}`, 'data-node': part[1]}, TV.quote(part[0])]));
    this.length = parts.reduce((n, part) => n + (typeof part === 'string' ? part : part[0] + '  ').length, 0);
    this.size();
    const source = this.view.data.header.page.source[frame.code];
    TV.write(this.view.ref.file, source ? `${source.file}  ·  ${source.function}` : '');
    this.code.parentNode.classList.toggle('none', !source);
    if (!source || this.listed === source) return;
    this.listings.get(this.listed)?.classList.remove('now');
    this.listed = source;
    if (!this.listings.has(source)) this.listings.set(source, this.listing(source));
    this.listings.get(source).classList.add('now');
  }

  // A long sentence is written smaller; when presenting, where all is large, sooner.
  size() {
    const {lang, present} = this.view.state, most = (lang === 'zh' ? 130 : 235) - (present ? 30 : 0);
    this.view.ref.saycard.classList.toggle('long', this.length > most);
  }

  focus(focus) {
    for (const token of this.box.querySelectorAll('[data-node]')) token.classList.toggle('me', Number(token.dataset.node) === focus);
  }

  // Each is made once, scrolled to its marked lines, and stays: to hide one and show another is all that a step does.
  listing(source) {
    const box = TV.make('div', 'listing'), marks = new Set(source.marks);
    box.tabIndex = 0;
    box.append(...source.lines.map((text, n) => {
      const line = TV.make('div', `line${marks.has(n) ? ' mark' : ''}`);
      line.append(TV.make('i', '', String(source.first + n)), TV.make('code', '', text || ' '));
      return line;
    }));
    this.code.append(box);
    const first = box.children[source.marks[0] || 0];
    if (first && source.lines.length > 6) this.view.after('source', () => { box.scrollTop = (first.previousSibling ?? first).offsetTop; });
    return box;
  }
};
