// The head of the view, its buttons, keys, theme and help. Belongs to TV.View and is mixed into it.

TV.controls = {
  button(name, text, action, className = '') {
    const button = TV.make('button', `btn ${className}`, text);
    button.dataset.action = name;
    button.addEventListener('click', action);
    return button;
  },

  controls() {
    const step = by => { this.set({playing: false}); this.step(by); };
    this.buttons = {
      previous: this.button('previous', '⟨', () => step(-1)),
      play: this.button('play', '▶', () => this.set({playing: !this.state.playing})),
      next: this.button('next', '⟩', () => step(1)),
    };
    const speed = this.button('speed', '1×', () => {
      const speeds = [0.5, 1, 2, 4];
      this.set({speed: speeds[(speeds.indexOf(this.state.speed) + 1) % speeds.length]});
    }, 'small');
    this.buttons.speed = speed;
    this.ref.control.append(...Object.values(this.buttons));
    this.buttons.fit = this.button('fit', '⤢', () => this.tree.fit(!this.tree.whole));
    this.buttons.zoomOut = this.button('zoomOut', '−', () => this.tree.scale(1 / 1.3));
    this.buttons.zoomIn = this.button('zoomIn', '+', () => this.tree.scale(1.3));
    this.buttons.direction = this.button('direction', '⤵', () => this.set({down: !this.state.down}));
    this.ref.treetools.append(this.buttons.direction, this.buttons.zoomOut, this.buttons.zoomIn, this.buttons.fit);
    this.buttons.order = this.button('order', '', () => this.set({order: this.state.order === 'tree' ? 'row' : 'tree'}), 'small');
    this.ref.paneltools.append(this.buttons.order);
    this.buttons.lang = this.button('lang', 'EN 中文', () => { this.set({lang: this.state.lang === 'en' ? 'zh' : 'en'}); this.speak(); }, 'pill');
    this.buttons.present = this.button('present', '', () => this.set({present: !this.state.present}), 'pill');
    this.buttons.help = this.button('help', '?', () => this.help(), 'pill');
    const menu = TV.make('details', 'tv-menu'), summary = TV.make('summary', 'btn pill dots', '•••'), list = TV.make('div', 'list');
    this.buttons.more = summary;
    for (const [name, action] of [['link', () => this.copyLink()], ['save', () => TV.saveTrace(this)], ['svg', () => TV.saveSvg(this, TV.treeSvg(this))],
      ['png', () => TV.savePng(this, TV.treeSvg(this))], ['maskSvg', () => TV.saveSvg(this, TV.maskSvg(this), '-mask')],
      ['maskPng', () => TV.savePng(this, TV.maskSvg(this), '-mask')]]) {
      this.buttons[name] = this.button(name, '', () => { menu.open = false; if (this.model) action(); }, 'item');
      list.append(this.buttons[name]);
    }
    menu.append(summary, list);
    menu.addEventListener('focusout', event => { if (!menu.contains(event.relatedTarget)) menu.open = false; });
    this.menu = menu;
    this.buttons.runs = this.button('runs', '', () => document.querySelector('.sidebar .toggle-button')?.click(), 'pill runs');
    this.sidebar();
    this.ref.tools.append(this.buttons.present, this.buttons.lang, this.buttons.help, menu);
    this.ref.help.addEventListener('click', () => this.ref.help.close());
    this.drawControls();
  },

  // The sidebar may come after the view, or never. What it holds while closed, gradio only moves out of the window: the
  // Tab key must not go there either.
  sidebar(tries = 40) {
    const side = document.querySelector('.sidebar');
    if (!side) { if (tries) setTimeout(() => this.sidebar(tries - 1), 250); return; }
    this.ref.tools.prepend(this.buttons.runs);
    const apply = () => { for (const part of side.querySelectorAll('.sidebar-content')) part.inert = !side.classList.contains('open'); };
    new MutationObserver(apply).observe(side, {attributes: true, attributeFilter: ['class']});
    apply();
  },

  drawControls() {
    const {playing, speed} = this.state, set = (name, text) => {
      this.buttons[name].title = text; this.buttons[name].setAttribute('aria-label', text);
    };
    this.buttons.play.textContent = playing ? '❚❚' : '▶';
    this.buttons.speed.textContent = `${speed}×`;
    for (const name of ['previous', 'next', 'speed', 'fit', 'zoomIn', 'zoomOut', 'direction', 'help', 'more']) set(name, this.t(name));
    this.buttons.order.textContent = this.t('orders')[this.state.order];
    set('order', this.t('order'));
    set('play', this.t(playing ? 'pause' : 'play'));
    this.buttons.lang.setAttribute('aria-label', 'Language / 语言');
    for (const name of ['runs', 'present', 'link', 'save', 'svg', 'png', 'maskSvg', 'maskPng']) this.buttons[name].textContent = this.t(name);
    for (const name of ['stream', 'bars', 'strip', 'tabs', 'details']) this.ref[name].setAttribute('aria-label', this.t('named')[name]);
  },

  head() {
    this.drawControls();
    const {header, footer} = this.data, pills = [];
    this.ref.run.replaceChildren();
    if (header) {
      const c = header.config, prompt = header.page.title || header.prompt.text;
      const how = c.temperature > 1e-5 ? `${this.t('temperature')} ${c.temperature}` : this.t('greedy');
      this.ref.run.append(TV.make('bdi', 'name', TV.clip(prompt.replace(/\s+/g, ' ').trim(), 64)),
        ` · ${header.pair.name} · ${how} · ${header.page.policy}`);
      const pill = (text, title, kind) => {
        const node = TV.make('span', `pill ${kind || ''}`, text);
        node.title = title;
        pills.push(node);
      };
      if (footer) {
        if (footer.check.lossless !== null) pill(this.t(footer.check.lossless ? 'lossless' : 'lossy'), footer.check.note || this.t('losslessHelp'), footer.check.lossless ? 'good' : 'bad');
        else if (footer.check.note !== TV.WORDS.en.unchecked) pill(this.t('unchecked'), footer.check.note);  // it says more than that
        if (footer.output.finish_reason === 'cancelled') pill(this.t('cancelled'), '');
        if (this.data.rounds) pill(`${this.t('tau')} ${footer.summary.tau.toFixed(2)}`, this.t('tauHelp'));
      } else pill(this.t('running'), '', 'busy');
      if (this.data.rounds) pill(this.state.lang === 'zh' ? `第 ${this.state.round + 1} / ${this.data.rounds} 轮` : `Round ${this.state.round + 1} of ${this.data.rounds}`, '', 'count');
    }
    this.ref.pills.replaceChildren(...pills);
  },

  legend() {
    if (this.legendLang === this.state.lang) return;
    this.legendLang = this.state.lang;
    this.ref.legend.replaceChildren(...['R', 's', 'e', 'k', 'p', 'a', 'x', 'b'].map(letter => {
      const item = TV.make('span', '');
      item.append(TV.make('i', `swatch s-${letter}`, TV.GLYPH[letter] || ''), this.t('state')[letter]);
      return item;
    }));
  },

  // What one is looking at when the page opens, and how to go on; gone with the first step.
  intro() {
    if (this.ref.intro.hidden) return;
    this.ref.intro.replaceChildren(...this.t('intro').map((text, i) => i % 2 ? TV.make('kbd', '', text) : text));
  },

  // The page around the view follows its language.
  speak() {
    document.documentElement.lang = this.state.lang;
    this.trigger('language');
  },

  async copyLink() {
    TV.writeHash(this);
    const words = this.t(this.data.header.page.name ? 'linked' : 'onlyHere');  // only a recorded run has a name to be found by
    try { await navigator.clipboard.writeText(location.href); this.toast(words); } catch { this.toast(location.href); }
  },

  toast(text) {
    this.ref.toast.textContent = text; this.ref.toast.hidden = false;
    clearTimeout(this.toasting);
    this.toasting = setTimeout(() => { this.ref.toast.hidden = true; }, Math.max(2200, 60 * text.length));
  },

  help() {
    const list = TV.make('dl', '');
    for (const [key, text] of this.t('keys')) list.append(TV.make('dt', '', key), TV.make('dd', '', text));
    this.ref.help.replaceChildren(TV.make('h2', '', this.t('help')), list, TV.make('p', 'soft', this.t('wheel')));
    if (this.ref.help.open) this.ref.help.close(); else this.ref.help.showModal();
  },

  // Gradio marks the dark theme with a class on the body.
  theme() {
    const apply = () => {
      this.ref.root.classList.toggle('dark', document.body.classList.contains('dark'));
      this.palette = null;
      document.documentElement.style.colorScheme = document.body.classList.contains('dark') ? 'dark' : 'light';  // the browser's own scrollbars
      if (this.model) this.panels.paint();
    };
    new MutationObserver(apply).observe(document.body, {attributes: true, attributeFilter: ['class']});
    apply();
  },

  // A file dropped on the view goes the way of the page's own file input.
  drop() {
    const {root} = this.ref, over = on => event => { event.preventDefault(); root.classList.toggle('dragging', on); };
    root.addEventListener('dragover', over(true));
    root.addEventListener('dragleave', over(false));
    root.addEventListener('drop', event => {
      over(false)(event);
      const input = document.querySelector('input[type=file]');
      if (!input || !event.dataTransfer.files.length) return;
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event('change', {bubbles: true}));
    });
  },

  keys() {
    const actions = {
      ArrowLeft: () => { this.set({playing: false}); this.step(-1); }, ArrowRight: () => { this.set({playing: false}); this.step(1); },
      '[': () => this.toRound(this.state.round - 1), ']': () => this.toRound(this.state.round + 1),
      ArrowUp: () => this.walk('ArrowUp'), ArrowDown: () => this.walk('ArrowDown'),
      Home: () => this.set({frame: 0}), End: () => this.set({frame: 1e6}), 0: () => this.tree.fit(!this.tree.whole),
      ' ': () => this.set({playing: !this.state.playing}), Escape: () => this.set(this.state.pin === null ? {present: false, hover: null} : {pin: null, hover: null}), '?': () => this.help(),
      p: () => this.set({present: !this.state.present}), t: () => this.set({down: !this.state.down}),
    };
    // Did the keyboard bring the focus to where it is? Asked as it comes: later, any key makes it :focus-visible.
    this.ref.root.addEventListener('focusin', event => { this.reached = event.target.matches(':focus-visible'); });
    this.ref.root.addEventListener('pointerdown', () => { this.reached = false; });
    const heard = event => {
      if (!this.ref.root.isConnected) { document.removeEventListener('keydown', heard); return; }
      const target = event.target, action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
      if (event.ctrlKey || event.metaKey || event.defaultPrevented || this.ref.help.open && event.key !== '?') return;
      if (event.key === 'Escape' && this.menu.open) {
        event.preventDefault();
        this.menu.open = false;
        this.buttons.more.focus();
        return;
      }
      if (target.closest?.('input, textarea, select, [contenteditable], [role=slider], [role=listbox], [role=tab]:not(.tab)')) return;
      if (!this.model || !this.ref.root.offsetParent) return;
      const node = target.closest?.('[data-node]');
      const chosen = event.key === 'Enter' || event.key === ' ' && this.reached;  // after a click, space plays
      if (chosen && node && this.ref.tree.contains(node)) {
        event.preventDefault();
        this.pin(Number(node.dataset.node));
        return;
      }
      if (event.altKey) {
        if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') { event.preventDefault(); this.descend(event.key === 'ArrowLeft'); }
        return;
      }
      if (event.key === ' ' && target.closest?.('button, summary, a')) return;
      if (!action) return;
      event.preventDefault();
      action();
    };
    document.addEventListener('keydown', heard);
  },
};
Object.assign(TV.View.prototype, TV.controls);
