// The address: a link to exactly what is seen.

export const readHash = () => {
  const hash = new URLSearchParams(location.hash.slice(1));
  const number = name => (hash.has(name) && /^\d+$/.test(hash.get(name)) ? Number(hash.get(name)) : null);
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
  };
};

export const writeHash = ({view}) => {
  const {round, frame, pin, panel, order, lang, down, present} = view.state,
    hash = new URLSearchParams();
  const name = view.data.header?.page.name;
  if (name) hash.set('run', name);
  hash.set('round', round + 1);
  hash.set('frame', frame + 1);
  if (pin !== null) hash.set('pin', pin);
  if (panel) hash.set('panel', panel);
  if (order === 'tree') hash.set('order', order);
  if (lang !== 'en') hash.set('lang', lang);
  if (down) hash.set('down', 1);
  if (present) hash.set('present', 1);
  if (location.hash !== '#' + hash) history.replaceState(history.state, '', '#' + hash);
};

// A link that the person puts into the open page; what writeHash writes is not heard here.
export const followHash = shell => {
  const {view} = shell;
  view.on(window, 'hashchange', () => {
    const link = (shell.link = readHash()),
      {panel, order, down, present, lang, run} = link,
      spoken = view.state.lang;
    view.set({panel, order, down, present, playing: false, lang: view.words.has(lang) ? lang : spoken});
    clearTimeout(shell.hashing); // the link stays as it was put in until one steps on
    if (view.state.lang !== spoken) shell.speak();
    if (run && run !== view.data.header?.page.name) shell.trigger('select', {run});
    else if (view.model && shell.arrive(false)) {
      view.draw('round');
      if (view.state.pin !== null) view.tree.reveal(view.state.pin);
    }
  });
};
