// What goes on paper: one column with the step's sentence, the whole tree, the mask, the paths and the source, made
// when the browser is about to print and taken away after. On screen it is never seen.

import {fill, make} from './dom.js';
import {treeSvg} from './export.js';
import {maskSvg} from './mask.js';

const SHEET = {width: 1100, height: 3000};

const picture = ({text, width, height}, name) => {
  const svg = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
  svg.style.setProperty('--wide', `${width}px`); // no larger than life
  svg.style.setProperty('--shape', width / height);
  svg.removeAttribute('width');
  svg.removeAttribute('height');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', name);
  return svg;
};

// A copy that the view does not find when it looks for its own.
const copy = node => {
  const made = node.cloneNode(true);
  for (const each of [made, ...made.querySelectorAll('*')])
    for (const name of ['id', 'data-ref', 'data-node', 'aria-live', 'tabindex', 'role']) each.removeAttribute(name);
  return made;
};

const part = (className, title, ...inside) => {
  const section = make('section', className);
  if (title) section.append(make('h2', '', title));
  section.append(...inside);
  return section;
};

// As large as a sheet takes it, whatever the window.
const wholeTree = view => {
  const {tree, model, state} = view;
  tree.round(model, SHEET);
  tree.frame(model, state.frame);
  const svg = treeSvg(view);
  tree.round(model);
  tree.frame(model, state.frame);
  return svg;
};

export const handout = view => {
  const m = view.model,
    {ref, frame, state} = view,
    sheet = make('article', 'tv-handout'),
    paths = make('div', 'paths');
  fill(paths, view.panels.paths(m));
  const head = make('header', '');
  const [name, how] = [...ref.run.childNodes].map(node => node.textContent),
    round = view.say('roundOf', {round: state.round + 1, n: view.data.rounds});
  head.append(make('h1', '', name), make('p', 'soft', `${how.replace(/^ · /, '')} · ${round}`));
  sheet.append(
    head,
    part('text', '', copy(ref.stream)),
    part('say', view.say(`kind.${frame.kind}`), copy(ref.say)),
    part('tree', view.say(`title.${frame.kind}`), picture(wholeTree(view), view.say('tree')), copy(ref.legend)),
    part('mask', view.say('panelTitle.mask'), picture(maskSvg(view), view.say('mask'))),
    part('paths', view.say('panelTitle.paths'), paths),
  );
  if (state.pin !== null) sheet.append(part('details', '', copy(ref.details)));
  const listing = ref.code.querySelector('.listing.now');
  if (listing) sheet.append(part('code', ref.file.textContent, copy(listing)));
  return sheet;
};

// The shell's page prints its round, in light colours whatever the screen's are; another of its views prints as it is.
export const printing = shell => {
  const {view, root, life} = shell;
  let sheet = null,
    dark = false;
  const after = () => {
    sheet?.remove();
    sheet = null;
    root.classList.remove('printed');
    if (dark) view.theme(true);
    dark = false;
  };
  life.on(window, 'beforeprint', () => {
    after();
    dark = root.classList.contains('dark');
    if (dark) view.theme(false);
    if (!view.model || shell.beside) return;
    sheet = handout(view);
    root.append(sheet);
    root.classList.add('printed');
  });
  life.on(window, 'afterprint', after);
};
