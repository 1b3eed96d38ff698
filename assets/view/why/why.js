// "Why it pays, or not": a view of its own beside the round's. Each card is a function from what is known of the run to
// parts; here is what they share. What a click, a key or a slider does is in `doing.js`.

import {fill, hide, make, put} from '../dom.js';
import {Life} from '../life.js';
import {bestOf, shapes} from './best.js';
import {calibrationCard} from './calibrationcard.js';
import {costCard} from './costcard.js';
import {doing} from './doing.js';
import {lostCard} from './lostcard.js';
import {Model} from './model.js';
import {lastsRace, raceCard} from './racecard.js';
import {roundCard} from './roundcard.js';
import {runOf} from './run.js';
import {shapesCard} from './shapescard.js';
import {verdict} from './verdict.js';
import {ranges, whatCard} from './whatcard.js';

const CARDS = {
  verdict,
  race: raceCard,
  round: roundCard,
  cost: costCard,
  what: whatCard,
  lost: lostCard,
  calibration: calibrationCard,
  shapes: shapesCard,
};
const START = {setting: null, time: null, racing: false, pace: 1, measuring: null, failed: null};

export class Why {
  // shell: its `view` and its `host`; container: an element of the page that this fills.
  constructor(shell, container) {
    this.shell = shell;
    this.view = shell.view;
    this.life = new Life();
    this.state = {...START, pooled: false};
    this.known = new Map(); // of every run that was open here, its bins
    this.widths = {};
    this.root = make('div', 'tv-why');
    this.root.hidden = true;
    this.root.treevizWhy = this;
    container.append(this.root);
    this.boxes = {};
    const sizes = new ResizeObserver(entries => this.resized(entries));
    for (const name of Object.keys(CARDS)) {
      this.boxes[name] = make('section', `tv-card why-${name}`);
      this.boxes[name].dataset.card = name;
      this.root.append(this.boxes[name]);
      this.life.observe(sizes, this.boxes[name]);
    }
    this.listen();
  }

  show() {
    this.root.hidden = false;
    this.update();
  }

  hide() {
    this.root.hidden = true;
    this.race(false);
  }

  destroy() {
    this.life.end();
    this.root.remove();
  }

  // -- what the cards ask for ----------------------------------------------------------------------------------

  say = (key, values) => this.view.say(key, values);
  label = token => this.view.data.label(token);
  token = (token, kind = '') => ['bdi', {class: `tok ${kind}`}, this.label(token)];
  toRound = round => ['button', {class: 'link', 'data-round': round}, String(round + 1)];
  room = name => ({w: this.widths[name] ?? 440});

  get round() {
    return Math.min(this.view.state.round, this.model.run.rounds.length - 1);
  }
  get header() {
    return this.view.data.header;
  }
  get pieces() {
    return this.view.data.lines.flatMap(line => line.page.pieces.map(([, text]) => text));
  }
  get pool() {
    return [...this.known.values()];
  }
  get canMeasure() {
    return Boolean(this.shell.host.cost) && !this.refused;
  }

  // -- when something has changed ------------------------------------------------------------------------------

  // The run, the round or the language may be another.
  update() {
    const {data, state} = this.view;
    if (this.root.hidden || !data.header) return;
    const key = `${state.lang} ${state.round}`;
    if (data.text === this.text && key === this.key) return;
    if (data.text !== this.text) this.read(data);
    this.text = data.text;
    this.key = key;
    this.draw(Object.keys(CARDS));
  }

  read(data) {
    const {header} = data,
      another = header !== this.model?.header,
      measured = this.model?.header?.pair.name === header.pair.name ? this.model.measured : null;
    this.model = Object.assign(new Model(runOf(data), measured), {header});
    if (another) {
      this.race(false);
      this.halt?.abort();
      Object.assign(this.state, START);
    }
    if (!data.rounds) return;
    this.known.set(`${header.created} ${header.page.name}`, this.model.bins);
    if (this.model.what) this.state.setting ??= this.recorded;
    if (data.footer) this.search();
    this.recall();
  }

  get recorded() {
    const {topK, depth, totalTokens} = this.model.what;
    return {topK, depth, totalTokens};
  }

  // The fastest setting, a few at a time, so that nothing waits for it.
  search() {
    const {model} = this,
      waiting = model.what && model.cost && model.drafts ? shapes(model.what) : [];
    let best = null;
    const look = () => {
      for (const until = performance.now() + 12; waiting.length && performance.now() < until; ) {
        const found = bestOf(model.what, model.cost, waiting.shift());
        if (!best || found.speed > best.speed) best = found;
      }
      if (waiting.length) this.life.later('search', look, 0);
      else if (model === this.model) {
        model.best = best;
        this.draw(['verdict', 'what']);
      }
    };
    this.life.later('search', look, 0);
  }

  resized(entries) {
    const changed = entries.map(({target, contentRect}) => [target.dataset.card, Math.floor(contentRect.width)]);
    const others = changed.filter(([name, width]) => width && this.widths[name] !== width);
    for (const [name, width] of others) this.widths[name] = width;
    if (this.model && others.length) this.draw(others.map(([name]) => name));
  }

  draw(names) {
    if (!this.model || this.root.hidden) return;
    const {model} = this,
      there = {race: model.run.rounds.length > 0, verdict: true};
    for (const name of names) {
      const on = there[name] ?? (model.drafts && model.run.rounds.length > 0);
      hide(this.boxes[name], !on);
      if (on) fill(this.boxes[name], CARDS[name](this));
    }
    this.boxes.what.classList.toggle('bare', !model.what);
    put(this.root, 'lang', this.view.state.lang);
    this.slide();
  }

  // The sliders stand where the state says: what a slider was moved to is no attribute of it.
  slide() {
    const {setting, time} = this.state,
      places = {time: time === null ? 1000 : Math.round((1000 * time) / lastsRace(this.model))};
    if (setting) {
      const {totals} = ranges(this.model, setting),
        at = totals.findLastIndex(n => n <= setting.totalTokens);
      Object.assign(places, {total_tokens: at, depth: setting.depth, top_k: setting.topK});
    }
    for (const each of this.root.querySelectorAll('[data-slide]')) {
      const place = String(places[each.dataset.slide]);
      if (each.value !== place) each.value = place;
    }
  }
}

Object.assign(Why.prototype, doing);
