// The shell around one view of a page: keys, address, language, theme, menu, help, and what it says in passing. A
// view knows nothing of it. Where the page comes from is the host's (`host/`): it is asked through `trigger`.

import {followHash, readHash, writeHash} from './address.js';
import {button, label} from './controls.js';
import {make} from './dom.js';
import {saveTrace, savePng, saveSvg, treeSvg} from './export.js';
import {listenToKeys} from './keys.js';
import {maskSvg} from './mask.js';
import {KEPT} from './state.js';
import {View} from './view.js';

export class Shell {
  // container: where the view goes. words: {language: words}; trigger(name, detail): asks the host.
  constructor(container, words, trigger) {
    this.trigger = trigger;
    this.link = readHash();
    const wanted =
      this.link.lang ?? (navigator.languages ?? []).map(tag => tag.split('-')[0]).find(code => code in words);
    const {panel, order, down, present} = this.link;
    this.languages = Object.keys(words);
    this.view = new View(container, {
      words: Object.fromEntries(this.languages.map(code => [code, words[code].view])),
      state: {panel, order, down, present, lang: this.languages.includes(wanted) ? wanted : 'en'},
      changed: (state, before) => this.changed(state, before),
      arrive: live => this.arrive(live),
    });
    this.names = words;
    this.root = this.view.ref.root;
    this.view.shell = this;
    this.help = make('dialog', 'tv-help');
    this.said = make('div', 'tv-toast');
    this.said.setAttribute('role', 'status');
    this.said.hidden = true;
    this.root.append(this.help, this.said);
    this.view.on(this.help, 'click', () => this.help.close());
    this.tools();
    this.theme();
    this.drop();
    this.sidebar();
    listenToKeys(this);
    followHash(this);
    this.around({});
  }

  say(key, values) {
    return this.view.say(key, values);
  }
  get model() {
    return this.view.model;
  }
  save() {
    if (this.view.data.header) saveTrace(this.view);
  }

  // -- what follows the view's state ---------------------------------------------------------------------------

  changed(state, before) {
    if (!this.view) return; // it is being made
    if (KEPT.some(name => state[name] !== before[name])) this.remember();
    this.around(before);
  }

  around(before) {
    const {lang, present} = this.view.state;
    if (present !== before.present) document.body.classList.toggle('tv-present', present);
    if (lang !== before.lang) this.words();
  }

  // The address follows, when one has come to rest.
  remember() {
    clearTimeout(this.hashing);
    this.hashing = setTimeout(() => writeHash(this), 250);
  }

  // Goes to the link's place, once, where the link is one to this run; asks for the run where it is to another.
  arrive(live) {
    const {run, round, frame, pin} = this.link,
      name = this.view.data.header.page.name;
    if (run && run !== name && !this.asked) {
      this.asked = true;
      this.trigger('select', {run});
    }
    if (live || !this.model || (round ?? null) === null || (run ?? '') !== (name ?? '')) return false;
    this.view.place({round: round - 1, frame: (frame ?? 1) - 1, pin});
    this.link = {};
    return true;
  }

  // -- its own buttons -----------------------------------------------------------------------------------------

  tools() {
    const {view} = this,
      menu = make('details', 'tv-menu'),
      more = make('summary', 'btn pill dots', '•••');
    const list = make('div', 'list'),
      items = {
        link: () => this.copyLink(),
        save: () => this.save(),
        svg: () => saveSvg(view, treeSvg(view)),
        png: () => savePng(view, treeSvg(view), '', () => this.toast(this.say('noPicture'))),
        maskSvg: () => saveSvg(view, maskSvg(view), '-mask'),
        maskPng: () => savePng(view, maskSvg(view), '-mask', () => this.toast(this.say('noPicture'))),
      };
    const next = () => this.languages[(this.languages.indexOf(view.state.lang) + 1) % this.languages.length];
    this.buttons = {
      runs: button('runs', '', () => document.querySelector('.sidebar .toggle-button')?.click(), 'pill runs'),
      present: button('present', '', () => view.set({present: !view.state.present}), 'pill'),
      lang: button(
        'lang',
        this.languages.map(code => this.names[code].switch).join(' '),
        () => this.speak(next()),
        'pill',
      ),
      help: button('help', '?', () => this.showHelp(), 'pill'),
      more,
    };
    for (const name in items) {
      this.buttons[name] = button(
        name,
        '',
        () => {
          menu.open = false;
          if (this.model) items[name]();
        },
        'item',
      );
      list.append(this.buttons[name]);
    }
    menu.append(more, list);
    view.on(menu, 'focusout', event => {
      if (!menu.contains(event.relatedTarget)) menu.open = false;
    });
    this.menu = menu;
    view.ref.tools.append(this.buttons.present, this.buttons.lang, this.buttons.help, menu);
  }

  words() {
    for (const name of ['help', 'more']) label(this.buttons[name], this.say(name));
    this.buttons.lang.setAttribute('aria-label', this.languages.map(code => this.names[code].name).join(' / '));
    for (const name of ['runs', 'present', 'link', 'save', 'svg', 'png', 'maskSvg', 'maskPng']) {
      this.buttons[name].textContent = this.say(name);
    }
  }

  // The page around the view follows its language.
  speak(lang = this.view.state.lang) {
    this.view.set({lang});
    document.documentElement.lang = lang;
    this.trigger('language');
  }

  async copyLink() {
    writeHash(this);
    const words = this.say(this.view.data.header.page.name ? 'linked' : 'onlyHere'); // only a recorded run has a name
    try {
      await navigator.clipboard.writeText(location.href);
      this.toast(words);
    } catch {
      this.toast(location.href);
    }
  }

  toast(text) {
    this.said.textContent = text;
    this.said.hidden = false;
    clearTimeout(this.toasting);
    this.toasting = setTimeout(
      () => {
        this.said.hidden = true;
      },
      Math.max(2200, 60 * text.length),
    );
  }

  showHelp() {
    const list = make('dl', '');
    for (const [key, text] of this.view.t('keys')) list.append(make('dt', '', key), make('dd', '', text));
    this.help.replaceChildren(make('h2', '', this.say('help')), list, make('p', 'soft', this.say('wheel')));
    if (this.help.open) this.help.close();
    else this.help.showModal();
  }

  // -- what is around ------------------------------------------------------------------------------------------

  // Gradio marks the dark theme with a class on the body.
  theme() {
    const apply = () => {
      const dark = document.body.classList.contains('dark');
      this.view.theme(dark);
      document.documentElement.style.colorScheme = dark ? 'dark' : 'light'; // the browser's own scrollbars
    };
    this.watchClass(document.body, apply);
  }

  // The sidebar may come after the view, or never. What it holds while closed, gradio only moves out of the window: the
  // Tab key must not go there either.
  sidebar(tries = 40) {
    const side = document.querySelector('.sidebar');
    if (!side) {
      if (tries) setTimeout(() => this.sidebar(tries - 1), 250);
      return;
    }
    this.view.ref.tools.prepend(this.buttons.runs);
    this.watchClass(side, () => {
      for (const part of side.querySelectorAll('.sidebar-content')) part.inert = !side.classList.contains('open');
    });
  }

  watchClass(node, apply) {
    const observer = new MutationObserver(apply);
    observer.observe(node, {attributes: true, attributeFilter: ['class']});
    this.view.observers.push(observer);
    apply();
  }

  // A file dropped on the view goes the way of the page's own file input.
  drop() {
    const over = on => event => {
      event.preventDefault();
      this.root.classList.toggle('dragging', on);
    };
    this.view.on(this.root, 'dragover', over(true));
    this.view.on(this.root, 'dragleave', over(false));
    this.view.on(this.root, 'drop', event => {
      over(false)(event);
      const input = document.querySelector('input[type=file]');
      if (!input || !event.dataTransfer.files.length) return;
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event('change', {bubbles: true}));
    });
  }
}
