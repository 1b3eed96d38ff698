// The view: one state, and the parts that draw it. Focus is what is hovered, else what is pinned.

TV.View = class {
  constructor(element, trigger) {
    this.ref = {};
    element.querySelector('.tv').treeviz = this;
    for (const node of element.querySelectorAll('[data-ref]')) this.ref[node.dataset.ref] = node;
    this.trigger = trigger;
    this.data = new TV.Data();
    this.link = TV.readHash();
    const language = this.link.lang ?? ((navigator.language || 'en').startsWith('zh') ? 'zh' : 'en');
    this.state = {round: 0, frame: 0, pin: null, hover: null, panel: this.link.panel, order: this.link.order, lang: Object.hasOwn(TV.WORDS, language) ? language : 'en',
      playing: false, speed: 1, down: this.link.down, present: this.link.present};
    this.present();
    this.calm = matchMedia('(prefers-reduced-motion: reduce)');
    this.tree = new TV.Tree(this); this.stream = new TV.Stream(this); this.timeline = new TV.Timeline(this);
    this.panels = new TV.Panels(this); this.details = new TV.Details(this); this.saying = new TV.Saying(this);
    this.controls(); this.theme(); this.drop(); this.keys(); TV.followHash(this);
  }

  save() { if (this.data.header) TV.saveTrace(this); }
  t(key) { return TV.WORDS[this.state.lang][key]; }
  get moves() { return !this.calm.matches; }
  get model() { return this.data.rounds ? this.data.round(Math.min(this.state.round, this.data.rounds - 1)) : null; }
  get frame() { return this.model?.frames[this.state.frame]; }

  // -- data in ---------------------------------------------------------------------------------------------------

  // `live`: what is not there yet is not decoded yet; else it has only not come yet.
  read(text, live = true) {
    const before = this.data.rounds, following = live && before > 0 && this.following(), what = this.data.read(text);
    if (what === 'same') return;
    const s = this.state;
    if (what === 'new') {
      Object.assign(s, {round: 0, frame: 0, pin: null, hover: null, playing: false});
      this.tree.touched = false; this.opened = false;
    }
    live &&= !this.data.footer;
    if (this.data.rounds && !this.opened) {
      this.opened = true;
      const wanted = this.link.run, name = this.data.header.page.name;
      if (wanted && wanted !== name && !this.asked) { this.asked = true; this.trigger('select', {run: wanted}); }
      this.open(live);
    } else if (following && this.data.rounds > before) {
      Object.assign(s, {round: this.data.rounds - 1, pin: null});
      s.frame = this.frameOf('accept');
    }
    this.stream.run(what === 'more'); this.timeline.run(what === 'more');
    this.draw('round');
    if (what === 'new' && before) this.remember();
  }

  // Where a run opens: at the link's place, else at the first round that has something to show.
  open(live) {
    const s = this.state, telling = this.data.lines.findIndex(line => line.round.accept.length > 1);
    if (!live && this.arrive()) return;
    s.round = live ? 0 : Math.max(0, telling);
    s.frame = this.frameOf('accept');
    this.ref.intro.hidden = live || this.greeted;
    this.greeted = true;
  }

  // Goes to the link's place, once, where the link is one to this run.
  arrive() {
    const s = this.state, {run, round, frame, pin} = this.link, last = this.data.rounds - 1;
    if (!this.model || (round ?? null) === null || (run ?? '') !== (this.data.header.page.name ?? '')) return false;
    s.round = Math.min(Math.max(round - 1, 0), last);
    s.frame = Math.min(Math.max((frame ?? 1) - 1, 0), this.model.frames.length - 1);
    s.pin = pin !== null && pin <= this.model.bonus && this.model.state(s.frame, pin) !== '.' ? pin : null;
    this.link = {};
    this.ref.intro.hidden = true;
    return true;
  }

  frameOf(kind) { return Math.max(0, this.model.frames.findIndex(frame => frame.kind === kind)); }
  following() { return this.state.round === this.data.rounds - 1 && ['accept', 'commit'].includes(this.frame.kind) && this.state.pin === null; }

  // -- state -----------------------------------------------------------------------------------------------------

  set(changes) {
    const s = this.state, old = {...s};
    Object.assign(s, changes);
    if (!this.model) {
      if (s.lang !== old.lang) this.stream.run(false);
      if (s.present !== old.present) this.present();
      this.draw('round');
      return;
    }
    const last = this.model.frames.length - 1;
    s.frame = Math.max(0, Math.min(s.frame, last));
    if (s.round !== old.round) { s.hover = null; if (!('pin' in changes)) s.pin = null; }
    if (s.pin !== null && this.model.state(s.frame, s.pin) === '.') s.pin = null;
    if (s.frame !== old.frame || s.round !== old.round) TV.hide(this.ref.intro, true);
    if (s.present !== old.present) this.present();
    if (s.down !== old.down) { this.tree.touched = false; this.drawn = null; }
    if (s.lang !== old.lang) { this.timeline.key = null; this.stream.run(false); this.timeline.run(false); this.draw('round'); }
    else if (s.round !== old.round || s.down !== old.down) this.draw('round');
    else if (s.frame !== old.frame || s.panel !== old.panel || s.order !== old.order) this.draw('frame');
    else if (s.pin !== old.pin || s.hover !== old.hover) this.draw('focus');
    if (['round', 'frame', 'pin', 'panel', 'order', 'lang', 'down', 'present'].some(name => s[name] !== old[name])) this.remember();
    if (s.playing !== old.playing || s.speed !== old.speed || s.order !== old.order) this.drawControls();
    if (s.playing && !old.playing) this.tick();
  }

  // The address follows, when one has come to rest.
  remember() {
    clearTimeout(this.hashing);
    this.hashing = setTimeout(() => TV.writeHash(this), 250);
  }

  // Once before the next painting, when all that changes has changed: what fills in, and then what asks for styles or
  // sizes (a canvas does, for its fonts), which in the middle of a step would have the browser lay out twice.
  after(name, action) {
    this.waiting ??= (requestAnimationFrame(() => {
      const waiting = this.waiting;
      this.waiting = null;
      if (!this.model) return;  // a run without rounds has taken the place of the one that was to be drawn
      for (const each of ['details', 'strip', 'panel', 'source', 'best']) waiting[each]?.();
    }), {});
    this.waiting[name] = action;
  }

  draw(what) {
    TV.hide(this.ref.empty, this.data.rounds > 0);
    const {header, footer} = this.data;
    if (!this.data.rounds) TV.write(this.ref.empty, footer ? footer.page.say[this.state.lang] : this.t(header ? 'waiting' : 'empty'));
    this.ref.root.classList.toggle('blank', !this.data.rounds);
    if (what === 'round') this.head();
    const m = this.model, s = this.state;
    if (!m) { this.stream.round(); return; }
    if (what === 'round') {
      this.ref.root.lang = s.lang;
      this.stream.round(); this.timeline.round(m); this.legend(); this.intro();
      if (this.drawn !== m) { this.tree.round(m); this.drawn = m; }  // last: it takes the room that they leave
    }
    if (what !== 'focus') {
      const kind = this.frame.kind;
      this.tree.frame(m, s.frame);
      TV.write(this.ref.treetitle, this.t('title')[kind]);
      TV.write(this.ref.unit, this.t('unit')[TV.UNIT[kind]]);
      this.timeline.frame(m, s.frame); this.panels.frame(m); this.saying.frame(m, s.frame);
    }
    const focus = s.hover ?? s.pin;
    this.tree.focus(m, focus, s.pin); this.stream.focus(m, focus); this.panels.focus(m, focus); this.details.focus(m, focus, s.pin);
    this.saying.focus(focus);
  }

  // Large, and nothing else: the page around hides itself where the body says so.
  present() {
    for (const [node, name] of [[this.ref.root, 'present'], [document.body, 'tv-present']]) node.classList.toggle(name, this.state.present);
    this.saying?.size();
  }
  hover(id) { if (id !== this.state.hover) this.set({hover: id !== null && this.model && this.model.state(this.state.frame, id) === '.' ? null : id}); }
  pin(id) { this.set({pin: this.state.pin === id ? null : id}); }

  step(by) {
    const s = this.state, m = this.model;
    if (!m) return false;
    let {round, frame} = s;
    frame += by;
    if (frame < 0 && round > 0) { round--; frame = this.data.round(round).frames.length - 1; }
    else if (frame >= m.frames.length && round < this.data.rounds - 1) { round++; frame = 0; }
    if (frame < 0 || frame >= this.data.round(round).frames.length) return false;
    this.set({round, frame, hover: null});
    return true;
  }

  // To another round, at the same kind of frame.
  toRound(round) {
    if (!this.model || round < 0 || round >= this.data.rounds) return;
    const now = this.frame, frames = this.data.round(round).frames;
    const same = frames.findIndex(frame => frame.kind === now.kind && frame.layer === now.layer);
    this.set({round, frame: same < 0 ? frames.length - 3 : same, hover: null});
  }

  jump(round, id) {
    const there = this.data.round(round), frame = there.frames.findIndex(frame => frame.kind === 'accept');
    this.set({round, frame, pin: id, hover: null, playing: false});
    this.tree.reveal(id);
  }

  tick() {
    clearTimeout(this.playing);
    this.playing = setTimeout(() => {
      if (!this.state.playing || !this.ref.root.isConnected) return;
      if (this.step(1)) this.tick(); else this.set({playing: false});
    }, 1700 / this.state.speed);
  }

  // Up and down between siblings and cousins of a layer; with Alt, or from a box, to the parent and the first child.
  walk(key) {
    const m = this.model, now = this.here;
    if (now === null) { this.goTo(0); return; }
    const column = [...m.place].filter(([id, p]) => p.depth === m.depth(now) && m.state(this.state.frame, id) !== '.').sort((a, b) => a[1].y - b[1].y).map(([id]) => id);
    this.goTo(column[column.indexOf(now) + (key === 'ArrowUp' ? -1 : 1)] ?? now);
  }

  descend(up) {
    const m = this.model, now = this.here ?? 0;
    const next = up ? m.parent[now] : [...m.place.keys()].find(id => m.parent[id] === now && m.state(this.state.frame, id) !== '.');
    if (next !== undefined && next >= 0) this.goTo(next);
  }

  // Where the keys walk from: the pinned node, else the one that the keyboard is on.
  get here() {
    const on = document.activeElement?.closest('.tv-tree [data-node]');
    return this.state.pin ?? (on ? Number(on.dataset.node) : null);
  }

  goTo(id) { this.set({pin: id}); this.tree.reveal(id); this.tree.nodes.get(id)?.g.focus({preventScroll: true}); }
};
