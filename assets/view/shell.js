// The shell around the view of a page: keys, address, language, theme, menu, help, and what is said in passing. A view
// knows nothing of it. Where the page comes from is the host's (`host/`); without one, a file shows what is in it.

import {followHash, readHash, writeHash} from './address.js';
import {button, label} from './controls.js';
import {make} from './dom.js';
import {saveTrace, savePng, saveSvg, treeSvg} from './export.js';
import {printing} from './handout.js';
import {listenToKeys} from './keys.js';
import {Life} from './life.js';
import {maskSvg} from './mask.js';
import {KEPT} from './state.js';
import {View} from './view.js';
import {VIEWS} from './views.js';

// Without a host, the theme is the browser's.
const browserTheme = shell => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  shell.life.on(dark, 'change', () => shell.theme(dark.matches));
  shell.theme(dark.matches);
};
const NOBODY = {ask: () => {}, around: browserTheme};

export class Shell {
  // container: where the view goes. words: {language: its file}.
  // host: ask(name, detail) asks it for another run ("select"), for a page in another language ("language");
  // around(shell) ties the shell to what is around it; cost, where it can measure, as `host/cost.js` does.
  constructor(container, words, host = NOBODY) {
    this.life = new Life();
    this.host = host;
    this.files = words;
    this.languages = Object.keys(words);
    this.link = readHash();
    const {panel, order, down, present, look, only, lang} = this.link;
    const preferred = (navigator.languages ?? []).map(tag => tag.split('-')[0]);
    this.view = new View(container, {
      words: Object.fromEntries(this.languages.map(code => [code, words[code].view])),
      state: {
        panel,
        order,
        down,
        present,
        look,
        only,
        lang: (lang === null ? preferred : [lang]).find(code => this.languages.includes(code)) ?? 'en',
      },
      changed: (state, before) => this.changed(state, before),
      arrive: live => this.arrive(live),
      came: () => this.besides('update'),
    });
    this.view.shell = this;
    this.root = this.view.ref.root;
    this.views = {};
    this.root.classList.add('fills');
    this.help = make('dialog', 'tv-help');
    this.said = make('div', 'tv-toast');
    this.said.setAttribute('role', 'status');
    this.said.hidden = true;
    this.root.append(this.help, this.said);
    this.life.on(this.help, 'click', () => this.help.close());
    this.tools();
    listenToKeys(this);
    followHash(this);
    printing(this);
    this.around({});
    host.around(this);
    if (this.view.state.lang !== 'en') this.speak();
  }

  destroy() {
    for (const view of Object.values(this.views)) view.destroy();
    this.life.end();
    this.view.destroy();
    document.body.classList.remove('tv-present');
  }

  say(key, values) {
    return this.view.say(key, values);
  }
  save() {
    if (this.view.data.header) saveTrace(this.view);
  }

  // -- what follows the view's state ---------------------------------------------------------------------------

  changed(state, before) {
    if (KEPT.some(name => state[name] !== before[name])) this.remember();
    this.around(before);
  }

  around(before) {
    const {lang, present, look, round} = this.view.state;
    if (present !== before.present) document.body.classList.toggle('tv-present', present);
    if (lang !== before.lang) this.words();
    if (look !== before.look) this.look(before.look);
    else if (lang !== before.lang || round !== before.round) this.besides('update');
  }

  // -- the views beside the round's ------------------------------------------------------------------------------

  // The one that is looked at, where it is not the round's.
  get beside() {
    return this.views[this.view.state.look];
  }
  besides(what) {
    this.beside?.[what]();
  }

  look(before) {
    const {beside} = this.view.ref,
      {look} = this.view.state,
      there = Object.hasOwn(VIEWS, look);
    this.views[before]?.hide();
    if (there) this.views[look] ??= new VIEWS[look](this, beside);
    beside.hidden = !there;
    this.root.classList.toggle('beside', there);
    for (const name in this.looks) this.looks[name].setAttribute('aria-pressed', name === (there ? look : 'round'));
    if (there) this.besides('show');
    else if (this.view.model && before) {
      this.view.drawn = null; // out of sight it had no size
      this.view.draw('round');
    }
  }

  // The address follows, when one has come to rest.
  remember() {
    this.life.later('address', () => writeHash(this), 250);
  }

  // Goes to the link's place, once, where the link is one to this run; asks for the run where it is to another.
  arrive(live) {
    const {run, round, frame, pin} = this.link,
      name = this.view.data.header.page.name;
    if (run && run !== name && !this.asked) {
      this.asked = true;
      this.host.ask('select', {run});
    }
    if (live || !this.view.model || (round ?? null) === null || (run ?? '') !== (name ?? '')) return false;
    this.view.place({round: round - 1, frame: (frame ?? 1) - 1, pin});
    this.link = {};
    return true;
  }

  // Large, or light on dark: the page around as well.
  theme(dark) {
    if (matchMedia('(forced-colors: active)').matches) dark = matchMedia('(prefers-color-scheme: dark)').matches;
    this.view.theme(dark);
    document.documentElement.style.colorScheme = dark ? 'dark' : 'light'; // the browser's own scrollbars
  }

  // -- its own buttons -----------------------------------------------------------------------------------------

  tools() {
    const {view} = this,
      menu = (this.menu = make('details', 'tv-menu')),
      more = make('summary', 'btn pill dots', '•••'),
      list = make('div', 'list');
    const noPicture = () => this.toast(this.say('noPicture'));
    this.items = {
      link: () => this.copyLink(),
      save: () => this.save(),
      svg: () => saveSvg(view, treeSvg(view)),
      png: () => savePng(view, treeSvg(view), '', noPicture),
      maskSvg: () => saveSvg(view, maskSvg(view), '-mask'),
      maskPng: () => savePng(view, maskSvg(view), '-mask', noPicture),
      print: () => print(),
    };
    const next = () => this.languages[(this.languages.indexOf(view.state.lang) + 1) % this.languages.length];
    const switches = this.languages.map(code => this.files[code].switch).join(' ');
    this.buttons = {
      present: button(this.life, 'present', '', () => view.set({present: !view.state.present}), 'pill'),
      lang: button(this.life, 'lang', switches, () => this.speak(next()), 'pill'),
      help: button(this.life, 'help', '?', () => this.showHelp(), 'pill'),
      more,
    };
    for (const name in this.items) {
      const chosen = () => {
        menu.open = false;
        if (view.model) this.items[name]();
      };
      list.append((this.buttons[name] = button(this.life, name, '', chosen, 'item')));
    }
    menu.append(more, list);
    this.life.on(menu, 'focusout', event => {
      if (!menu.contains(event.relatedTarget)) menu.open = false;
    });
    this.looks = {};
    const group = make('div', 'tv-views');
    group.setAttribute('role', 'group');
    for (const look of ['round', ...Object.keys(VIEWS)])
      group.append((this.looks[look] = button(this.life, `look-${look}`, '', () => view.set({look}), 'pill')));
    if (group.children.length > 1) view.ref.tools.append(group);
    view.ref.tools.append(this.buttons.present, this.buttons.lang, this.buttons.help, menu);
  }

  // A button of the host's, before the others.
  offer(name, action) {
    this.buttons[name] = button(this.life, name, this.say(name), action, `pill ${name}`);
    this.view.ref.tools.prepend(this.buttons[name]);
  }

  words() {
    this.buttons.lang.setAttribute('aria-label', this.languages.map(code => this.files[code].name).join(' / '));
    for (const name of ['help', 'more']) label(this.buttons[name], this.say(name));
    for (const look in this.looks) this.looks[look].textContent = this.say(`views.${look}`);
    for (const name in this.buttons) {
      if (!['lang', 'help', 'more'].includes(name)) this.buttons[name].textContent = this.say(name);
    }
  }

  // The page around the view follows its language.
  speak(lang = this.view.state.lang) {
    this.view.set({lang});
    document.documentElement.lang = lang;
    this.host.ask('language');
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
    const gone = () => {
      this.said.hidden = true;
    };
    this.life.later('toast', gone, Math.max(2200, 60 * text.length));
  }

  showHelp() {
    const list = make('dl', '');
    for (const [key, text] of this.view.t('keys')) list.append(make('dt', '', key), make('dd', '', text));
    this.help.replaceChildren(make('h2', '', this.say('help')), list, make('p', 'soft', this.say('wheel')));
    if (this.help.open) this.help.close();
    else this.help.showModal();
  }
}
