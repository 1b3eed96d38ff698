// The token stream, the timeline with a bar per round, and the strip of frames.

TV.Stream = class {
  constructor(view) {
    this.view = view; this.box = view.ref.stream; this.spans = []; this.found = new Map(); this.last = []; this.open = false;
    this.box.addEventListener('click', event => {
      const piece = event.target.closest('[data-round]');
      if (event.target.closest('.more')) { this.open = !this.open; this.run(); this.round(); return; }
      if (piece) view.jump(Number(piece.dataset.round), Number(piece.dataset.piece));
    });
    this.box.addEventListener('pointerover', event => {
      const piece = event.target.closest('[data-round]');
      if (!piece || event.pointerType === 'touch') return;
      view.hover(Number(piece.dataset.round) === view.state.round ? Number(piece.dataset.piece) : null);
    });
    this.box.addEventListener('pointerleave', () => view.hover(null));
  }

  // Text as it reads; what would be invisible comes as a mark already. Only text nodes and <br> are made.
  static write(node, text, inline) {
    text.split('\n').forEach((line, i) => {
      if (i) node.append(TV.make('i', 'nl', inline ? '↵ ' : '↵'), ...(inline ? [] : [document.createElement('br')]));
      node.append(line.replace(/\t/g, '⇥\t'));
    });
  }

  run(more) {
    const {data} = this.view;
    if (!more) { this.box.replaceChildren(); this.spans = []; this.found = new Map(); this.last = []; this.done = 0; this.prompt(data.header); }
    for (; this.done < data.rounds; this.done++) this.add(this.done, data.lines[this.done]);
    if (data.footer && !data.rounds && !this.spans.length) this.alone(data.footer);
    this.cut(data.footer);
  }

  // Of a run without rounds, what the target said.
  alone({page, output}) {
    for (const [i, [, text]] of page.pieces.entries()) {
      const span = TV.make('span', 'piece own');
      span.title = this.view.t('bonusOf');
      TV.Stream.write(span, text);
      if (!span.textContent) span.append(TV.make('small', 'part', this.view.data.label(output.token_ids[i])));
      this.spans.push(span);
      this.box.append(span);
    }
  }

  prompt(header) {
    if (!header) return;
    const pieces = header.page.prompt, length = pieces.reduce((n, [text]) => n + text.length, 0), long = length > 120;
    const span = TV.make('span', 'prompt');
    let skip = long && !this.open ? length - 80 : 0;
    if (skip) span.append('… ');
    for (const [text, special] of pieces) {
      if (skip > 0 && ((skip -= text.length) > 0 || !special && !/^\s/.test(text))) { skip = Math.max(skip, 1); continue; }
      const part = TV.make('bdi', special ? 'special' : '');
      TV.Stream.write(part, text, true);
      span.append(part);
    }
    this.box.append(span);
    if (long) this.box.append(TV.make('button', 'more', this.view.t(this.open ? 'promptLess' : 'promptMore')));
  }

  add(index, line) {
    const pieces = line.page.pieces, last = pieces.length - 1;
    const group = TV.make('span', 'round');
    group.dataset.round = index;
    if (index) this.box.append(TV.make('span', 'seam'));
    this.box.append(document.createElement('wbr'));  // a line breaks before the group: inside, its outline would go around nothing
    pieces.forEach(([id, text], i) => {
      const first = id === 0, own = first || i === last;
      const span = TV.make('span', `piece ${own ? 'own' : 'drafted'}`);
      span.dataset.round = index; span.dataset.piece = id;
      span.dataset.token = this.token(line.round, id);
      this.tell(span, own ? 'bonusOf' : 'draftedOf');
      TV.Stream.write(span, text);
      if (!span.textContent) span.append(TV.make('small', 'part', this.view.data.label(span.dataset.token)));  // a piece of a character
      if (/^ \S{1,30}$/.test(text)) {  // a line breaks before a token's space, not between the space and its word
        span.classList.add('unbroken');
        if (i) group.append(document.createElement('wbr'));
      }
      group.append(span);
      this.spans.push(span); this.found.set(`${index} ${id}`, span); this.last[index] = span;
    });
    this.box.append(group);
  }

  // What hovering says: equal texts may be other tokens.
  tell(span, what) { span.title = `${this.view.t(what)} (id ${span.dataset.token})`; }

  token(round, id) {
    const {token} = round.candidates;
    return id === 0 ? round.root : id > token.length ? round.accept.bonus : token[id - 1];
  }

  // What lies after the end of the output: said, but not emitted.
  cut(footer) {
    if (!footer || footer.output.finish_reason === 'cancelled') return;
    const end = footer.output.token_ids.length;
    for (const span of this.spans.slice(end)) {
      span.classList.add('beyond');
      this.tell(span, 'beyond');
    }
  }

  round() {
    const now = this.view.state.round;
    for (const each of this.box.querySelectorAll('.round')) each.classList.toggle('now', Number(each.dataset.round) === now);
    const group = this.box.querySelector('.round.now');
    if (group) {  // scrolls the stream alone, never the page, and no further than the round is seen, or its beginning
      const edge = 7, top = group.offsetTop - edge, low = top + group.offsetHeight + 2 * edge, {scrollTop, clientHeight} = this.box;
      const at = Math.min(top, Math.max(scrollTop, low - clientHeight));
      if (at !== scrollTop) this.box.scrollTop = at;
    }
    const m = this.view.model, beyond = group ? group.querySelectorAll('.beyond').length : 0;
    this.view.ref.gain.textContent = m ? m.page.gain[this.view.state.lang] + (beyond ? this.view.t('gainBeyond')(beyond) : '') : '';
  }

  focus(m, focus) {
    for (const span of this.lit || []) span.classList.remove('me');
    this.lit = [];
    if (focus === null) return;
    const own = this.found.get(`${m.index} ${focus}`), before = focus === 0 && this.last[m.index - 1];  // a root is the bonus before it
    for (const span of [own, before]) if (span) { span.classList.add('me'); this.lit.push(span); }
  }
};

TV.Timeline = class {
  constructor(view) {
    this.view = view; this.box = view.ref.bars; this.strip = view.ref.strip;
    this.box.addEventListener('click', event => {
      const bar = event.target.closest('[data-bar]');
      if (bar) view.toRound(Number(bar.dataset.bar));
    });
    let scrub = false;
    this.box.addEventListener('pointerdown', () => { scrub = true; });
    addEventListener('pointerup', () => { scrub = false; });
    this.box.addEventListener('pointerover', event => {
      const bar = event.target.closest('[data-bar]');
      if (scrub && bar) view.toRound(Number(bar.dataset.bar));
    });
    this.scrolled = 0;
    this.strip.addEventListener('scroll', () => { this.scrolled = this.strip.scrollLeft; }, {passive: true});
    new ResizeObserver(() => { this.spots = null; }).observe(this.strip);
    this.strip.addEventListener('click', event => {
      const chip = event.target.closest('[data-frame]');
      if (chip) view.set({frame: Number(chip.dataset.frame), playing: false});
    });
  }

  run(more) {
    const {data} = this.view;
    if (!more) { this.box.replaceChildren(); this.done = 0; }
    const most = Math.max(1, ...data.lines.map(line => line.round.accept.length));
    for (; this.done < data.rounds; this.done++) {
      const n = data.lines[this.done].round.accept.length, bar = TV.make('button', 'bar');
      bar.dataset.bar = this.done; bar.dataset.length = n; bar.tabIndex = -1;
      bar.append(TV.make('i', 'plus'), TV.make('b', ''));
      const text = data.lines[this.done].page.pieces.map(piece => piece[1]).join('').replace(/\s+/g, ' ');
      bar.title = `${this.view.t('roundTip')(this.done + 1, n)}: ${TV.quote(text)}`;
      bar.setAttribute('aria-label', bar.title);
      this.box.append(bar);
    }
    for (const bar of this.box.children) bar.style.setProperty('--h', Number(bar.dataset.length) / most);
  }

  round(m) {
    const now = this.view.state.round;
    [...this.box.children].forEach((bar, i) => {
      bar.classList.toggle('now', i === now);
      TV.put(bar, 'aria-current', i === now);
    });
    const bar = this.box.children[now];
    if (bar) {  // scrolls the bars alone, never the page
      const left = bar.offsetLeft - this.box.offsetLeft;
      if (left < this.box.scrollLeft || left + 30 > this.box.scrollLeft + this.box.clientWidth) this.box.scrollLeft = left - 60;
    }
    if (!m) return;
    const room = this.box.parentNode.clientWidth, need = 31 * this.box.children.length + 58 * m.frames.length + 290;
    this.box.parentNode.classList.toggle('many', need > room);
    const key = `${m.frames.map(frame => frame.kind + frame.layer).join()} ${this.view.state.lang}`;
    if (key === this.key) return;
    this.key = key; this.spots = null;
    this.strip.replaceChildren(...m.frames.map((frame, i) => {
      const kind = this.view.t('kind')[frame.kind];
      const chip = TV.make('button', `chip k-${frame.kind}`, frame.kind === 'expand' ? `${kind} ${frame.layer}` : kind);
      chip.dataset.frame = i;
      if (frame.layer !== null) chip.setAttribute('aria-label', `${this.view.t('kind').expand} ${frame.layer}${frame.kind === 'select' ? `, ${kind}` : ''}`);
      return chip;
    }));
  }

  frame(m, now) {
    [...this.strip.children].forEach((chip, i) => {
      chip.classList.toggle('now', i === now);
      chip.classList.toggle('done', i < now);
      TV.put(chip, 'aria-current', i === now ? 'step' : 'false');
    });
    this.view.after('strip', () => this.show(now));
  }

  // Scrolls the strip alone, never the page. Where the chips are is asked once: the answer costs a layout.
  show(now) {
    this.spots ??= {width: this.strip.clientWidth, chips: [...this.strip.children].map(chip => [chip.offsetLeft - this.strip.offsetLeft, chip.offsetWidth])};
    const [left, length] = this.spots.chips[now], {width} = this.spots;
    if (left < this.scrolled || left + length > this.scrolled + width) this.strip.scrollLeft = left - width / 2;
  }
};
