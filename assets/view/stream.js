// The token stream: the prompt and what was written, round by round.

import {make} from './dom.js';

export class Stream {
  constructor(view) {
    this.view = view;
    this.box = view.ref.stream;
    this.spans = [];
    this.found = new Map();
    this.last = [];
    this.open = false;
    this.view.on(this.box, 'click', event => {
      const piece = event.target.closest('[data-round]');
      if (event.target.closest('.more')) {
        this.open = !this.open;
        this.run();
        this.round();
        return;
      }
      if (piece) view.jump(Number(piece.dataset.round), Number(piece.dataset.piece));
    });
    this.view.on(this.box, 'pointerover', event => {
      const piece = event.target.closest('[data-round]');
      if (!piece || event.pointerType === 'touch') return;
      view.hover(Number(piece.dataset.round) === view.state.round ? Number(piece.dataset.piece) : null);
    });
    this.view.on(this.box, 'pointerleave', () => view.hover(null));
  }

  // Text as it reads; what would be invisible comes as a mark already. Only text nodes and <br> are made.
  static write(node, text, inline) {
    text.split('\n').forEach((line, i) => {
      if (i) node.append(make('i', 'nl', inline ? '↵ ' : '↵'), ...(inline ? [] : [document.createElement('br')]));
      node.append(line.replace(/\t/g, '⇥\t'));
    });
  }

  run(more) {
    const {data} = this.view;
    if (!more) {
      this.box.replaceChildren();
      this.spans = [];
      this.found = new Map();
      this.last = [];
      this.done = 0;
      this.prompt(data.header);
    }
    for (; this.done < data.rounds; this.done++) this.add(this.done, data.lines[this.done]);
    if (data.footer && !data.rounds && !this.spans.length) this.alone(data.footer);
    this.cut(data.footer);
  }

  // Of a run without rounds, what the target said.
  alone({page, output}) {
    for (const [i, [, text]] of page.pieces.entries()) {
      const span = make('span', 'piece own');
      span.title = this.view.say('bonusOf');
      Stream.write(span, text);
      if (!span.textContent) span.append(make('small', 'part', this.view.data.label(output.token_ids[i])));
      this.spans.push(span);
      this.box.append(span);
    }
  }

  prompt(header) {
    if (!header) return;
    const pieces = header.page.prompt,
      length = pieces.reduce((n, [text]) => n + text.length, 0),
      long = length > 120;
    const span = make('span', 'prompt');
    let skip = long && !this.open ? length - 80 : 0;
    if (skip) span.append('… ');
    for (const [text, special] of pieces) {
      if (skip > 0 && ((skip -= text.length) > 0 || (!special && !/^\s/.test(text)))) {
        skip = Math.max(skip, 1);
        continue;
      }
      const part = make('bdi', special ? 'special' : '');
      Stream.write(part, text, true);
      span.append(part);
    }
    this.box.append(span);
    if (long) this.box.append(make('button', 'more', this.view.say(this.open ? 'promptLess' : 'promptMore')));
  }

  add(index, line) {
    const pieces = line.page.pieces,
      last = pieces.length - 1;
    const group = make('span', 'round');
    group.dataset.round = index;
    if (index) this.box.append(make('span', 'seam'));
    // a line breaks before the group: inside, its outline would go around nothing
    this.box.append(document.createElement('wbr'));
    pieces.forEach(([id, text], i) => {
      const first = id === 0,
        own = first || i === last;
      const span = make('span', `piece ${own ? 'own' : 'drafted'}`);
      span.dataset.round = index;
      span.dataset.piece = id;
      span.dataset.token = this.token(line.round, id);
      this.tell(span, own ? 'bonusOf' : 'draftedOf');
      Stream.write(span, text);
      // a piece of a character
      if (!span.textContent) span.append(make('small', 'part', this.view.data.label(span.dataset.token)));
      if (/^ \S{1,30}$/.test(text)) {
        // a line breaks before a token's space, not between the space and its word
        span.classList.add('unbroken');
        if (i) group.append(document.createElement('wbr'));
      }
      group.append(span);
      this.spans.push(span);
      this.found.set(`${index} ${id}`, span);
      this.last[index] = span;
    });
    this.box.append(group);
  }

  // What hovering says: equal texts may be other tokens.
  tell(span, what) {
    span.title = this.view.say('tokenOf', {what: this.view.say(what), id: span.dataset.token});
  }

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
    for (const each of this.box.querySelectorAll('.round'))
      each.classList.toggle('now', Number(each.dataset.round) === now);
    const group = this.box.querySelector('.round.now');
    if (group) {
      // scrolls the stream alone, never the page, and no further than the round is seen, or its beginning
      const edge = 7,
        top = group.offsetTop - edge,
        low = top + group.offsetHeight + 2 * edge,
        {scrollTop, clientHeight} = this.box;
      const at = Math.min(top, Math.max(scrollTop, low - clientHeight));
      if (at !== scrollTop) this.box.scrollTop = at;
    }
    const m = this.view.model,
      beyond = group ? group.querySelectorAll('.beyond').length : 0;
    this.view.ref.gain.textContent = m
      ? this.view.told(m.page.gain) + (beyond ? this.view.say('gainBeyond', {n: beyond}) : '')
      : '';
  }

  focus(m, focus) {
    for (const span of this.lit || []) span.classList.remove('me');
    this.lit = [];
    if (focus === null) return;
    const own = this.found.get(`${m.index} ${focus}`),
      before = focus === 0 && this.last[m.index - 1]; // a root is the bonus before it
    for (const span of [own, before])
      if (span) {
        span.classList.add('me');
        this.lit.push(span);
      }
  }
}
