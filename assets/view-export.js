// What leaves the page: the trace, tree and mask as SVG and PNG, a link to exactly this view.

TV.PAINTED = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'opacity', 'fill-opacity', 'stroke-opacity', 'font-family', 'font-size', 'font-weight',
  'text-anchor', 'visibility', 'display'];

TV.download = (name, blob) => {
  const link = TV.make('a');
  link.href = URL.createObjectURL(blob); link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};

TV.fileName = (view, ending) => {
  const all = (view.data.header.prompt.text.match(/[\p{L}\p{N}]+/gu) || ['run']).slice(-5).join('-').toLowerCase();
  const words = [...all.slice(0, 200)].slice(0, 60).join('');  // whole characters, and a name that every disk takes
  return `${words}-round-${view.state.round + 1}-${view.frame?.kind}${ending}`;
};

// The tree as it stands, with its colours written into it, cropped to what there is.
TV.treeSvg = view => {
  const from = view.ref.tree, svg = from.cloneNode(true), size = view.tree.size, pad = 16;
  const old = from.querySelectorAll('*'), fresh = svg.querySelectorAll('*');
  fresh.forEach((node, i) => {
    const style = getComputedStyle(old[i]);
    for (const name of TV.PAINTED) node.setAttribute(name, style.getPropertyValue(name));
    for (const name of ['class', 'tabindex', 'role', 'aria-level', 'aria-selected', 'aria-hidden']) node.removeAttribute(name);
  });
  const background = TV.svg('rect', {x: -pad, y: -pad, width: size.w + 2 * pad, height: size.h + 2 * pad, fill: TV.colours(view).card});
  svg.querySelector('g').removeAttribute('transform');
  svg.prepend(background);
  for (const [name, value] of Object.entries({xmlns: 'http://www.w3.org/2000/svg', width: size.w + 2 * pad, height: size.h + 2 * pad,
    viewBox: `${-pad} ${-pad} ${size.w + 2 * pad} ${size.h + 2 * pad}`})) svg.setAttribute(name, value);
  for (const name of ['class', 'style', 'data-ref']) svg.removeAttribute(name);
  return {text: new XMLSerializer().serializeToString(svg), width: size.w + 2 * pad, height: size.h + 2 * pad};
};

TV.saveSvg = (view, {text}, ending = '') => TV.download(TV.fileName(view, `${ending}.svg`), new Blob([text], {type: 'image/svg+xml'}));

// Twice the natural size, or as large as a canvas may be.
TV.savePng = (view, {text, width, height}, ending = '') => {
  const image = new Image(), canvas = TV.make('canvas'), failed = () => view.toast(view.t('noPicture'));
  const scale = Math.min(2, 16384 / width, 16384 / height, Math.sqrt(6e7 / (width * height)));
  canvas.width = Math.max(1, width * scale); canvas.height = Math.max(1, height * scale);
  image.onload = () => {
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => blob ? TV.download(TV.fileName(view, `${ending}.png`), blob) : failed());
  };
  image.onerror = failed;
  image.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
};

TV.saveTrace = view => TV.download(TV.fileName(view, '').replace(/-round-.*/, '') + '.trace.jsonl',
  new Blob([view.data.plain()], {type: 'application/x-ndjson'}));

// -- the link --------------------------------------------------------------------------------------------------------

TV.readHash = () => {
  const hash = new URLSearchParams(location.hash.slice(1)), number = name => hash.has(name) && /^\d+$/.test(hash.get(name)) ? Number(hash.get(name)) : null;
  return {run: hash.get('run'), round: number('round'), frame: number('frame'), pin: number('pin'), panel: hash.get('panel'), order: hash.get('order') === 'tree' ? 'tree' : 'row', lang: hash.get('lang'),
    down: hash.has('down'), present: hash.has('present')};
};

TV.writeHash = view => {
  const {round, frame, pin, panel, order, lang, down, present} = view.state, hash = new URLSearchParams();
  const name = view.data.header?.page.name;
  if (name) hash.set('run', name);
  hash.set('round', round + 1); hash.set('frame', frame + 1);
  if (pin !== null) hash.set('pin', pin);
  if (panel) hash.set('panel', panel);
  if (order === 'tree') hash.set('order', order);
  if (lang !== 'en') hash.set('lang', lang);
  if (down) hash.set('down', 1);
  if (present) hash.set('present', 1);
  if (location.hash !== '#' + hash) history.replaceState(history.state, '', '#' + hash);
};

// A link that the person puts into the open page; what writeHash writes is not heard here.
TV.followHash = view => {
  const heard = () => {
    if (!view.ref.root.isConnected) { removeEventListener('hashchange', heard); return; }
    const link = view.link = TV.readHash(), {panel, order, down, present, lang, run} = link, spoken = view.state.lang;
    view.set({panel, order, down, present, playing: false, lang: Object.hasOwn(TV.WORDS, lang ?? '') ? lang : spoken});
    clearTimeout(view.hashing);  // the link stays as it was put in until one steps on
    if (view.state.lang !== spoken) view.speak();
    if (run && run !== view.data.header?.page.name) view.trigger('select', {run});
    else if (view.arrive()) { view.draw('round'); if (view.state.pin !== null) view.tree.reveal(view.state.pin); }
  };
  addEventListener('hashchange', heard);
};
