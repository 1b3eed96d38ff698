// What a click, a key or a slider does in "Why it pays". Belongs to Why and is mixed into it.

import {OPENS} from '../frames.js';
import {costOfDocument} from './cost.js';
import {PACES, lastsRace} from './racecard.js';
import {ranges} from './whatcard.js';

export const doing = {
  listen() {
    this.life.on(this.root, 'click', event => {
      const at = event.target.closest('[data-open], [data-round], [data-do]');
      if (!at) return;
      if (at.dataset.do) this.act(at.dataset.do);
      else if (at.dataset.open) this.open(Number(at.dataset.open));
      else this.lead(Number(at.dataset.round));
    });
    this.life.on(this.root, 'keydown', event => this.pressed(event));
    this.life.on(this.root, 'input', event => {
      const {slide} = event.target.dataset;
      if (slide) this.moved(slide, Number(event.target.value));
    });
  },

  // Among the bars of a chart by arrow; one is chosen as it is reached.
  pressed(event) {
    const at = event.target.closest('g[data-round]');
    if (!at || event.altKey || event.ctrlKey || event.metaKey) return;
    const by = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1}[event.key];
    if (!by && event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    if (!by) {
      this.lead(Number(at.dataset.round));
      return;
    }
    const chart = at.closest('svg'),
      bars = [...chart.querySelectorAll('g[data-round]')],
      next = bars[bars.indexOf(at) + by]?.dataset.round;
    if (next === undefined) return;
    this.lead(Number(next));
    chart.querySelector(`g[data-round="${next}"]`).focus();
  },

  // To a round; to its tree where one is at the round already.
  lead(round) {
    if (round === this.round) this.open(round);
    else {
      this.view.toRound(round);
      this.update();
    }
  },

  open(round) {
    this.view.set({round, look: 'round'});
    this.view.set({frame: this.view.frameOf(OPENS)});
  },

  moved(slide, value) {
    const {setting} = this.state;
    if (slide === 'time') {
      this.race(false);
      const end = lastsRace(this.model);
      this.state.time = value >= 1000 ? null : (value / 1000) * end;
      this.draw(['race']);
      return;
    }
    if (slide === 'total_tokens') this.set({totalTokens: ranges(this.model, setting).totals[value]});
    else this.set(slide === 'depth' ? {depth: value} : {topK: value});
  },

  // Another setting of the what-if; no more is kept than there are candidates.
  set(changes) {
    const setting = {...this.state.setting, ...changes},
      most = ranges(this.model, setting).totals.at(-1);
    this.state.setting = {topK: setting.topK, depth: setting.depth, totalTokens: Math.min(setting.totalTokens, most)};
    this.draw(['what']);
  },

  // What a button asks for, by its name.
  act(name) {
    const {state, model} = this;
    if (name === 'play') this.race(!state.racing);
    else if (name === 'pace') {
      state.pace = PACES[(PACES.indexOf(state.pace) + 1) % PACES.length];
      this.draw(['race']);
    } else if (name === 'recorded') this.set(this.recorded);
    else if (name === 'best') this.set(model.best);
    else if (name === 'pool') {
      state.pooled = !state.pooled;
      this.draw(['calibration']);
    } else if (name === 'measure') this.measure();
    else this.halt?.abort();
  },

  race(on) {
    const {state} = this;
    if (on === state.racing) return;
    state.racing = on;
    this.life.stop('race');
    if (on) {
      const end = lastsRace(this.model);
      if (state.time === null || state.time >= end) state.time = 0;
      let last = null;
      const step = now => {
        state.time += last === null ? 0 : ((now - last) / 1000) * state.pace;
        last = now;
        if (state.time >= end) Object.assign(state, {time: null, racing: false});
        else this.life.nextFrame('race', step);
        this.draw(['race']);
      };
      this.life.nextFrame('race', step);
    }
    this.draw(['race']);
  },

  // The cost curve of the pair, where the host has one already; a host that refuses even that measures nothing.
  async recall() {
    const {pair} = this.header;
    if (!this.shell.host.cost || this.recalled === pair.name) return;
    this.recalled = pair.name;
    this.refused = false;
    try {
      const found = await this.ask(0, () => {}, this.life.signal);
      if (found && pair.name === this.header.pair.name) this.price(found);
    } catch {
      this.refused = true;
    }
    this.draw(['cost']);
  },

  // Asks the host to measure it.
  async measure() {
    const {state} = this,
      {pair} = this.header;
    this.halt = new AbortController();
    const told = share => {
      state.measuring = share;
      this.draw(['cost']);
    };
    told(0);
    state.failed = null;
    try {
      const found = await this.ask(10, told, AbortSignal.any([this.halt.signal, this.life.signal]));
      if (pair.name === this.header.pair.name) this.price(found);
    } catch (error) {
      if (error.name !== 'AbortError') state.failed = error.message;
    }
    state.measuring = null;
    this.draw(['cost']);
  },

  ask(seconds, told, signal) {
    return this.shell.host.cost({pair: this.header.pair.name, language: this.view.state.lang, seconds}, told, signal);
  },

  price(found) {
    this.model.price(costOfDocument(found));
    this.search();
    this.draw(Object.keys(this.boxes));
  },
};
