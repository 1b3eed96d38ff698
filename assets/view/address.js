// The address: a link to exactly what is seen.

// What a link says; `order` is "row", `look` "round" and the rest null or false where it says nothing.
export const parsed = text => {
  const hash = new URLSearchParams(text.replace(/^#/, ''));
  const number = name => (/^\d+$/.test(hash.get(name) ?? '') ? Number(hash.get(name)) : null);
  return {
    run: hash.get('run'),
    round: number('round'),
    frame: number('frame'),
    pin: number('pin'),
    panel: hash.get('panel'),
    order: hash.get('order') === 'tree' ? 'tree' : 'row',
    lang: hash.get('lang'),
    down: hash.has('down'),
    present: hash.has('present'),
    look: hash.get('view') ?? 'round',
    only: /^(kept|\d{1,3})$/.test(hash.get('only') ?? '') ? hash.get('only') : null,
  };
};

// The link to a state (`state.js`) of a run; rounds and frames are counted from one.
export const spelled = (run, {round, frame, pin, panel, order, lang, down, present, look, only}) => {
  const hash = new URLSearchParams();
  if (run) hash.set('run', run);
  hash.set('round', round + 1);
  hash.set('frame', frame + 1);
  if (pin !== null) hash.set('pin', pin);
  if (panel) hash.set('panel', panel);
  if (order === 'tree') hash.set('order', order);
  if (lang !== 'en') hash.set('lang', lang);
  if (down) hash.set('down', 1);
  if (present) hash.set('present', 1);
  if (look !== 'round') hash.set('view', look);
  if (only) hash.set('only', only);
  return '#' + hash;
};

export const readHash = () => parsed(location.hash);

export const writeHash = ({view}) => {
  const hash = spelled(view.data.header?.page.name, view.state);
  if (location.hash !== hash) history.replaceState(history.state, '', hash);
};

// A link that the person puts into the open page; what writeHash writes is not heard here.
export const followHash = shell => {
  const {view, life} = shell;
  life.on(window, 'hashchange', () => {
    const link = (shell.link = readHash()),
      {panel, order, down, present, look, only, lang, run} = link,
      spoken = view.state.lang;
    view.set({panel, order, down, present, look, only, playing: false, lang: view.words.has(lang) ? lang : spoken});
    life.stop('address'); // the link stays as it was put in until one steps on
    if (view.state.lang !== spoken) shell.speak();
    if (run && run !== view.data.header?.page.name) shell.host.ask('select', {run});
    else if (view.model && shell.arrive(false)) {
      view.draw('round');
      if (view.state.pin !== null) view.tree.reveal(view.state.pin);
    }
  });
};
