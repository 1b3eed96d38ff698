// The head of a view and the buttons that are its own. Belongs to View and is mixed into it.

import {make, put} from './dom.js';
import {STATES} from './frames.js';
import {clip} from './text.js';
import {clock} from './why/clock.js';
import {times} from './why/draw.js';
import {runOf} from './why/run.js';

const SPEEDS = [0.5, 1, 2, 4];
const ONLY = [null, 'kept', '8']; // the boxes of the tree: all, those that were kept, the best eight

export const button = (life, name, text, action, className = '') => {
  const made = make('button', `btn ${className}`, text);
  made.dataset.action = name;
  life.on(made, 'click', action);
  return made;
};

export const label = (made, text) => {
  made.title = text;
  made.setAttribute('aria-label', text);
};

export const controls = {
  controls() {
    const step = by => {
      this.set({playing: false});
      this.step(by);
    };
    const speed = () => this.set({speed: SPEEDS[(SPEEDS.indexOf(this.state.speed) + 1) % SPEEDS.length]});
    const own = (box, ...all) => {
      for (const [name, ...how] of all) box.append((this.buttons[name] = button(this.life, name, ...how)));
    };
    this.buttons = {};
    own(
      this.ref.control,
      ['previous', '⟨', () => step(-1)],
      ['play', '▶', () => this.set({playing: !this.state.playing})],
      ['next', '⟩', () => step(1)],
      ['speed', '1×', speed, 'small speed'],
      ['leave', '✕', () => this.set({present: false}), 'leave'],
    );
    const lower = source => () => {
      this.ref.root.classList.toggle('source', source);
      put(this.buttons.token, 'aria-pressed', !source);
      put(this.buttons.source, 'aria-pressed', source);
    };
    own(this.ref.cards, ['token', '', lower(false), ''], ['source', '', lower(true), '']);
    lower(false)();
    own(this.ref.texttools, ['alltext', '', () => this.ref.root.classList.toggle('alltext'), 'small alltext']);
    own(
      this.ref.treetools,
      ['direction', '⤵', () => this.set({down: !this.state.down})],
      ['only', '', () => this.set({only: ONLY[(ONLY.indexOf(this.state.only) + 1) % ONLY.length]}), 'word'],
      ['zoomOut', '−', () => this.tree.scale(1 / 1.3)],
      ['zoomIn', '+', () => this.tree.scale(1.3)],
      ['fit', '⤢', () => this.tree.fit(!this.tree.whole)],
    );
    own(this.ref.paneltools, [
      'order',
      '',
      () => this.set({order: this.state.order === 'tree' ? 'row' : 'tree'}),
      'small',
    ]);
    this.drawControls();
  },

  drawControls() {
    const {playing, speed} = this.state;
    this.buttons.play.textContent = playing ? '❚❚' : '▶';
    this.buttons.speed.textContent = `${speed}×`;
    for (const name of ['previous', 'next', 'speed', 'fit', 'zoomIn', 'zoomOut', 'direction', 'order']) {
      label(this.buttons[name], this.say(name));
    }
    const {only} = this.state;
    this.buttons.only.textContent = this.say(`onlys.${only === null ? 'all' : only === 'kept' ? 'kept' : 'best'}`, {
      n: only,
    });
    label(this.buttons.only, this.say('only'));
    this.buttons.order.textContent = this.say(`orders.${this.state.order}`);
    for (const name of ['token', 'source']) this.buttons[name].textContent = this.say(`cards.${name}`);
    this.buttons.alltext.textContent = this.say('alltext');
    label(this.buttons.leave, this.say('leave'));
    label(this.buttons.play, this.say(playing ? 'pause' : 'play'));
    for (const name of ['stream', 'bars', 'strip', 'tabs', 'details']) {
      this.ref[name].setAttribute('aria-label', this.say(`named.${name}`));
    }
  },

  // Which run it is, and what can be said of all of it.
  head() {
    this.drawControls();
    const {header, footer} = this.data;
    this.ref.run.replaceChildren();
    if (!header) {
      this.ref.pills.replaceChildren();
      return;
    }
    const c = header.config,
      prompt = header.page.title || header.prompt.text;
    const how = c.temperature > 1e-5 ? `${this.say('temperature')} ${c.temperature}` : this.say('greedy');
    this.ref.run.append(
      make('bdi', 'name', clip(prompt.replace(/\s+/g, ' ').trim(), 64)),
      ` · ${header.pair.name} · ${how} · ${header.page.policy}`,
    );
    this.ref.pills.replaceChildren(
      ...this.pills(footer).map(([text, title, kind = '']) => {
        const made = make('span', `pill ${kind}`, text);
        made.title = title;
        return made;
      }),
    );
  },

  pills(footer) {
    const pills = [],
      {rounds} = this.data;
    if (!footer) pills.push([this.say('running'), '', 'busy']);
    else {
      const {check, output, summary} = footer;
      if (check.lossless) pills.push([this.say('lossless'), check.note || this.say('losslessHelp'), 'good']);
      else if (check.lossless === false)
        pills.push([this.say('lossy'), check.note || this.say('losslessHelp'), 'bad']);
      // it says more than that
      else if (check.note !== this.words.words.en.unchecked) pills.push([this.say('unchecked'), check.note]);
      if (output.finish_reason === 'cancelled') pills.push([this.say('cancelled'), '']);
      if (rounds) pills.push([`${this.say('tau')} ${summary.tau.toFixed(2)}`, this.say('tauHelp')]);
      const {quotient} = rounds ? clock(runOf(this.data)) : {};
      if (quotient) {
        const told = this.say('why.header', {times: times(quotient)});
        pills.push([told, this.say('why.headerHelp'), quotient < 1 ? 'poor' : 'good']);
      }
    }
    if (rounds) pills.push([this.say('roundOf', {round: this.state.round + 1, n: rounds}), '', 'count']);
    return pills;
  },

  legend() {
    if (this.legendLang === this.state.lang) return;
    this.legendLang = this.state.lang;
    this.ref.legend.replaceChildren(
      ...Object.entries(STATES).map(([letter, {glyph}]) => {
        const item = make('span', '');
        item.append(make('i', `swatch s-${letter}`, glyph), this.say(`state.${letter}`));
        return item;
      }),
    );
  },

  // What one is looking at when the page opens, and how to go on; gone with the first step.
  intro() {
    if (this.ref.intro.hidden) return;
    const told = this.t(this.taps.matches ? 'introTaps' : 'intro');
    this.ref.intro.replaceChildren(...told.map((text, i) => (i % 2 ? make('kbd', '', text) : text)));
  },
};
