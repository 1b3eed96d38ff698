// The sentence of the frame, and the source of its step.

import {fill, linkNodes, make, write} from './dom.js';
import {cellsOf, quote} from './text.js';

const SAID = [20, 18, 17, 16, 15, 14, 13]; // sizes of its type
const WIDE = 0.53,
  HIGH = 1.42; // of a letter, on average, and of a line, in sizes of the type

export class Saying {
  constructor(view) {
    this.view = view;
    this.box = view.ref.say;
    this.code = view.ref.code;
    this.listings = new Map();
    linkNodes(view, this.box);
    this.room = {width: 0, height: 0};
    view.sizes(view.ref.saycard, () => {
      this.room = {width: view.ref.saycard.clientWidth, height: view.ref.saycard.clientHeight};
      this.size();
    });
  }

  frame(m, i) {
    const frame = m.frames[i];
    const parts = this.view.told(frame.say);
    fill(
      this.box,
      parts.map(part =>
        typeof part === 'string'
          ? part
          : ['b', {class: `tok link s-${m.state(i, part[1])}`, 'data-node': part[1]}, quote(part[0])],
      ),
    );
    this.length = parts.reduce((n, part) => n + cellsOf(typeof part === 'string' ? part : quote(part[0])), 0);
    this.size();
    const source = this.view.data.header.page.source[frame.code];
    write(this.view.ref.file, source ? `${source.file}  ·  ${source.function}` : '');
    this.code.parentNode.classList.toggle('none', !source);
    if (!source || this.listed === source) return;
    this.listings.get(this.listed)?.classList.remove('now');
    this.listed = source;
    if (!this.listings.has(source)) this.listings.set(source, this.listing(source));
    this.listings.get(source).classList.add('now');
  }

  // The largest type in which the sentence fits its card. Reckoned, not tried: the browser would have to lay out.
  size() {
    const {width, height} = this.room,
      card = this.view.ref.saycard;
    card.classList.toggle('long', this.length > (this.view.state.present ? 205 : 235));
    if (!width) return;
    const {intro} = this.view.ref,
      above =
        intro.hidden || this.view.state.present
          ? 0
          : 3 + 18 * Math.ceil((intro.textContent.length * 6.6) / (width - 40)),
      room = height - above - 10;
    const fits = size => Math.ceil((this.length * size * WIDE) / (width - 40)) * size * HIGH <= room;
    const most = SAID.filter(size => size <= height / 4.6);
    card.style.setProperty('--say', most.find(fits) ?? SAID.at(-1));
  }

  focus(focus) {
    for (const token of this.box.querySelectorAll('[data-node]'))
      token.classList.toggle('me', Number(token.dataset.node) === focus);
  }

  // Each is made once, scrolled to its marked lines, and stays: to hide one and show another is all that a step does.
  listing(source) {
    const box = make('div', 'listing'),
      marks = new Set(source.marks);
    box.tabIndex = 0;
    box.append(
      ...source.lines.map((text, n) => {
        const line = make('div', `line${marks.has(n) ? ' mark' : ''}`);
        line.append(make('i', '', String(source.first + n)), make('code', '', text || ' '));
        return line;
      }),
    );
    this.code.append(box);
    const first = box.children[source.marks[0] || 0];
    if (first && source.lines.length > 6)
      this.view.after('source', () => {
        box.scrollTop = (first.previousSibling ?? first).offsetTop;
      });
    return box;
  }
}
