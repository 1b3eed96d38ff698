// The view of a trace: one state, and the parts that draw it. Focus is what is hovered, else what is pinned.
//
// A component: it owns its element, and nothing else of the page. No key, no address, no switch of language or theme,
// no host; those are the shell's (`shell.js`). Several may stand in one page.

import {controls} from './controls.js';
import {Data} from './data.js';
import {Details} from './details.js';
import {fill, hide, write} from './dom.js';
import {ABSENT, DECIDED, FRAMES, OPENS} from './frames.js';
import {Life} from './life.js';
import {MARKUP} from './markup.js';
import {Panels} from './panels.js';
import {Saying} from './saying.js';
import {START, changed} from './state.js';
import {Stream} from './stream.js';
import {Timeline} from './timeline.js';
import {Tree} from './tree.js';
import {walking} from './walk.js';
import {Words} from './words.js';

// view(container, trace, {words, state, changed, arrive}) -> View
//   trace    page lines, whole or so far; more by `read`
//   words    {language: section "view" of its words}; at least "en"
//   state    where to begin: any of `state.js`
//   changed  called with (state, before) when something has changed that a link would hold
//   arrive   called when a run opens, with whether it still grows; true where it has found its own place
//   came     called when lines have come
export const view = (container, trace, options) => {
  const made = new View(container, options);
  if (trace) made.read(trace, false);
  return made;
};

export class View {
  constructor(container, {words, state = {}, changed = () => {}, arrive = () => false, came = () => {}}) {
    this.life = new Life();
    this.heard = changed;
    this.arrive = arrive;
    this.came = came;
    fill(container, MARKUP);
    this.ref = {};
    for (const node of container.querySelectorAll('[data-ref]')) this.ref[node.dataset.ref] = node;
    this.ref.root.treeviz = this;
    this.data = new Data();
    this.state = {...START, ...state};
    this.words = new Words(words, this.state.lang);
    this.showPresent();
    this.calm = matchMedia('(prefers-reduced-motion: reduce)');
    this.taps = matchMedia('(hover: none)'); // a finger: no keys, nothing to point with
    this.tree = new Tree(this);
    this.stream = new Stream(this);
    this.timeline = new Timeline(this);
    this.panels = new Panels(this);
    this.details = new Details(this);
    this.saying = new Saying(this);
    this.controls();
    this.watchFocus();
  }

  // All that the view and its parts listen to ends with its life.
  on(target, type, heard, options) {
    this.life.on(target, type, heard, options);
  }
  sizes(target, told) {
    this.life.observe(new ResizeObserver(told), target);
  }

  destroy() {
    this.life.end();
    this.ref.root.remove();
  }

  t(key) {
    return this.words.of(key);
  }
  say(key, values) {
    return this.words.say(key, values);
  }
  // A sentence that came with the run, in every language that its lines were made in.
  told(said) {
    return said[this.state.lang] ?? said.en;
  }
  get moves() {
    return !this.calm.matches;
  }
  get model() {
    return this.data.rounds ? this.data.round(Math.min(this.state.round, this.data.rounds - 1)) : null;
  }
  get frame() {
    return this.model?.frames[this.state.frame];
  }

  // Did the keyboard bring the focus to where it is? Asked as it comes: later, any key makes it :focus-visible.
  watchFocus() {
    this.on(this.ref.root, 'focusin', event => {
      this.reached = event.target.matches(':focus-visible');
    });
    this.on(this.ref.root, 'pointerdown', () => {
      this.reached = false;
    });
  }

  // -- data in ---------------------------------------------------------------------------------------------------

  // `live`: what is not there yet is not decoded yet; else it has only not come yet.
  read(text, live = true) {
    const before = this.data.rounds,
      following = live && before > 0 && this.following(),
      what = this.data.read(text);
    if (what === 'same') return;
    const s = this.state;
    if (what === 'new') {
      Object.assign(s, {round: 0, frame: 0, pin: null, hover: null, playing: false});
      this.tree.touched = false;
      this.opened = false;
    }
    live &&= !this.data.footer;
    if (this.data.rounds && !this.opened) {
      this.opened = true;
      if (!this.arrive(live)) this.open(live);
    } else if (following && this.data.rounds > before) {
      Object.assign(s, {round: this.data.rounds - 1, pin: null});
      s.frame = this.frameOf(OPENS);
    }
    this.stream.run(what === 'more');
    this.timeline.run(what === 'more');
    this.draw('round');
    if (what === 'new' && before) this.heard(s, {});
    this.came();
  }

  // Where a run opens by itself: at the first round that has something to show.
  open(live) {
    const s = this.state,
      telling = this.data.lines.findIndex(line => line.round.accept.length > 1);
    s.round = live ? 0 : Math.max(0, telling);
    s.frame = this.frameOf(OPENS);
    this.ref.intro.hidden = live || this.greeted;
    this.greeted = true;
  }

  // To a place from elsewhere, as far as there is one.
  place({round, frame, pin}) {
    const s = this.state,
      last = this.data.rounds - 1;
    s.round = Math.min(Math.max(round, 0), last);
    s.frame = Math.min(Math.max(frame, 0), this.model.frames.length - 1);
    s.pin = pin !== null && pin <= this.model.bonus && this.model.state(s.frame, pin) !== ABSENT ? pin : null;
    this.ref.intro.hidden = true;
  }

  frameOf(kind) {
    return Math.max(
      0,
      this.model.frames.findIndex(frame => frame.kind === kind),
    );
  }
  following() {
    const {round, pin} = this.state;
    return round === this.data.rounds - 1 && pin === null && FRAMES[this.frame.kind].stage === DECIDED;
  }

  // -- state -----------------------------------------------------------------------------------------------------

  set(changes) {
    const old = this.state,
      s = (this.state = changed(
        old,
        changes,
        this.model && (round => this.data.round(Math.min(round, this.data.rounds - 1))),
      ));
    this.words.code = s.lang;
    if (s.present !== old.present) this.showPresent();
    if (!this.model) {
      if (s.lang !== old.lang) this.stream.run(false);
      this.draw('round');
      this.heard(s, old);
      return;
    }
    if ((s.frame !== old.frame || s.round !== old.round) && !this.ref.intro.hidden) {
      hide(this.ref.intro, true);
      this.saying.size();
    }
    if (s.down !== old.down || s.only !== old.only) {
      this.tree.touched = false;
      this.drawn = null;
    }
    if (s.lang !== old.lang) {
      this.timeline.key = null;
      this.stream.run(false);
      this.timeline.run(false);
      this.draw('round');
    } else if (s.round !== old.round || s.down !== old.down || s.only !== old.only) this.draw('round');
    else if (s.frame !== old.frame || s.panel !== old.panel || s.order !== old.order) this.draw('frame');
    else if (s.pin !== old.pin || s.hover !== old.hover) this.draw('focus');
    this.heard(s, old);
    if (['playing', 'speed', 'order', 'only'].some(name => s[name] !== old[name])) this.drawControls();
    if (s.playing && !old.playing) this.tick();
  }

  // Once before the next painting, when all that changes has changed: what fills in, and then what asks for styles or
  // sizes (a canvas does, for its fonts), which in the middle of a step would have the browser lay out twice.
  after(name, action) {
    if (!this.waiting) {
      this.waiting = {};
      this.life.nextFrame('after', () => this.settled());
    }
    this.waiting[name] = action;
  }

  settled() {
    const {waiting} = this;
    this.waiting = null;
    if (!this.model) return; // a run without rounds has taken the place of the one that was to be drawn
    for (const each of ['details', 'strip', 'panel', 'source', 'best']) waiting[each]?.();
  }

  draw(what) {
    hide(this.ref.empty, this.data.rounds > 0);
    const {header, footer} = this.data;
    if (!this.data.rounds)
      write(this.ref.empty, footer ? this.told(footer.page.say) : this.say(header ? 'waiting' : 'empty'));
    this.ref.root.classList.toggle('blank', !this.data.rounds);
    if (what === 'round') this.head();
    const m = this.model,
      s = this.state;
    if (!m) {
      this.stream.round();
      return;
    }
    if (what === 'round') {
      this.ref.root.lang = s.lang;
      this.stream.round();
      this.timeline.round(m);
      this.legend();
      this.intro();
      if (this.drawn !== m) this.tree.round((this.drawn = m)); // last: it takes the room that they leave
    }
    if (what !== 'focus') {
      const kind = this.frame.kind;
      this.tree.frame(m, s.frame);
      write(this.ref.treetitle, this.say(`title.${kind}`));
      write(this.ref.unit, this.say(`unit.${FRAMES[kind].unit}`));
      this.timeline.frame(m, s.frame);
      this.panels.frame(m);
      this.saying.frame(m, s.frame);
    }
    const focus = s.hover ?? s.pin;
    this.tree.focus(m, focus, s.pin);
    this.stream.focus(m, focus);
    this.panels.focus(m, focus);
    this.details.focus(m, focus, s.pin);
    this.saying.focus(focus);
  }

  // Large, and nothing else.
  showPresent() {
    const {root} = this.ref;
    root.classList.toggle('present', this.state.present);
    // no letter under 20 px in a window of 1280 x 720
    root.style.setProperty(
      '--tv-zoom',
      (1.74 * Math.max(1, Math.min(innerWidth / 1280, innerHeight / 720))).toFixed(3),
    );
    this.saying?.size();
  }

  theme(dark) {
    this.ref.root.classList.toggle('dark', dark);
    this.palette = null;
    if (this.model) this.panels.paint();
  }

  hover(id) {
    if (id !== this.state.hover)
      this.set({hover: id !== null && this.model && this.model.state(this.state.frame, id) === ABSENT ? null : id});
  }
  pin(id) {
    this.set({pin: this.state.pin === id ? null : id});
  }
}

Object.assign(View.prototype, controls, walking);
