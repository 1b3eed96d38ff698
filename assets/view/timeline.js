// The timeline: a bar for each round, and the strip of frames.

import {make, put} from './dom.js';
import {quote} from './text.js';

// A layer is told by its number, once there is a word before them all.
const LAYERED = {expand: layer => String(layer), select: () => '›'};

export class Timeline {
  constructor(view) {
    this.view = view;
    this.box = view.ref.bars;
    this.chips = [];
    this.strip = view.ref.strip;
    this.view.on(this.box, 'click', event => {
      const bar = event.target.closest('[data-bar]');
      if (bar) view.toRound(Number(bar.dataset.bar));
    });
    let scrub = false; // the button went down here, and has not been let go of
    this.view.on(this.box, 'pointerdown', () => {
      scrub = true;
    });
    this.view.on(this.box, 'pointerover', event => {
      scrub &&= event.buttons > 0;
      const bar = event.target.closest('[data-bar]');
      if (scrub && bar) view.toRound(Number(bar.dataset.bar));
    });
    this.scrolled = 0;
    this.view.on(
      this.strip,
      'scroll',
      () => {
        this.scrolled = this.strip.scrollLeft;
      },
      {passive: true},
    );
    this.view.sizes(this.strip, () => {
      this.spots = null;
    });
    this.view.on(this.strip, 'click', event => {
      const chip = event.target.closest('[data-frame]');
      if (chip) view.set({frame: Number(chip.dataset.frame), playing: false});
    });
  }

  run(more) {
    const {data} = this.view;
    if (!more) {
      this.box.replaceChildren();
      this.done = 0;
    }
    const most = Math.max(1, ...data.lines.map(line => line.round.accept.length));
    for (; this.done < data.rounds; this.done++) {
      const n = data.lines[this.done].round.accept.length,
        bar = make('button', 'bar');
      bar.dataset.bar = this.done;
      bar.dataset.length = n;
      bar.tabIndex = -1;
      bar.append(make('i', 'plus'), make('b', ''));
      const text = data.lines[this.done].page.pieces
        .map(piece => piece[1])
        .join('')
        .replace(/\s+/g, ' ');
      bar.title = `${this.view.say('roundTip', {round: this.done + 1, n})}: ${quote(text)}`;
      bar.setAttribute('aria-label', bar.title);
      this.box.append(bar);
    }
    for (const bar of this.box.children) bar.style.setProperty('--h', Number(bar.dataset.length) / most);
  }

  round(m) {
    const now = this.view.state.round;
    [...this.box.children].forEach((bar, i) => {
      bar.classList.toggle('now', i === now);
      put(bar, 'aria-current', i === now);
    });
    const bar = this.box.children[now];
    if (bar) {
      // scrolls the bars alone, never the page
      const left = bar.offsetLeft - this.box.offsetLeft;
      if (left < this.box.scrollLeft || left + 30 > this.box.scrollLeft + this.box.clientWidth)
        this.box.scrollLeft = left - 60;
    }
    if (!m) return;
    const room = this.box.parentNode.clientWidth,
      need = 31 * this.box.children.length + 58 * m.frames.length + 290;
    this.box.parentNode.classList.toggle('many', need > room);
    const key = `${m.frames.map(frame => frame.kind + frame.layer).join()} ${this.view.state.lang}`;
    if (key === this.key) return;
    this.key = key;
    this.spots = null;
    this.chips = m.frames.map((frame, i) => {
      const kind = this.view.say(`kind.${frame.kind}`);
      const chip = make('button', `chip k-${frame.kind}`, LAYERED[frame.kind]?.(frame.layer) ?? kind);
      chip.dataset.frame = i;
      if (frame.layer !== null)
        chip.setAttribute(
          'aria-label',
          `${this.view.say('kind.expand')} ${frame.layer}${frame.kind === 'select' ? `, ${kind}` : ''}`,
        );
      if (frame.kind in LAYERED) chip.title = chip.getAttribute('aria-label');
      return chip;
    });
    this.strip.replaceChildren(...this.chips);
    const first = this.strip.querySelector('.k-expand');
    if (first) first.before(make('span', 'word', this.view.say('layers')));
  }

  frame(m, now) {
    this.chips.forEach((chip, i) => {
      chip.classList.toggle('now', i === now);
      chip.classList.toggle('done', i < now);
      put(chip, 'aria-current', i === now ? 'step' : 'false');
    });
    this.view.after('strip', () => this.show(now));
  }

  // Scrolls the strip alone, never the page. Where the chips are is asked once: the answer costs a layout.
  show(now) {
    this.spots ??= {
      width: this.strip.clientWidth,
      chips: this.chips.map(chip => [chip.offsetLeft - this.strip.offsetLeft, chip.offsetWidth]),
    };
    const [left, length] = this.spots.chips[now],
      {width} = this.spots;
    if (left < this.scrolled || left + length > this.scrolled + width) this.strip.scrollLeft = left - width / 2;
  }
}
