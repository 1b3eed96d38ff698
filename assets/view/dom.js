// Writes to the page only what is not there yet: a step changes little, and what stays as it is need not be laid out
// again. Nodes are written over rather than replaced: when one comes or goes, the browser looks over the whole page for
// the sake of gradio's `:has()` rules.

export const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};
const SVG = 'http://www.w3.org/2000/svg';
export const svgNode = (tag, attributes, text) => {
  const node = document.createElementNS(SVG, tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text !== undefined) node.textContent = text;
  return node;
};

export const put = (node, name, value) => {
  if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
};

export const write = (node, text) => {
  const only = node.firstChild;
  if (only?.nodeType === 3 && !only.nextSibling) {
    if (only.data !== text) only.data = text;
  } else if (node.textContent !== text) node.textContent = text;
};

export const hide = (node, on) => {
  if (node.hidden !== on) node.hidden = on;
};

// Has `box` hold `parts`: each a text, or [tag, attributes, ...parts]; with KEEP for parts an element keeps what it
// has.
export const KEEP = null;
export const fill = (box, parts) => {
  let at = box.firstChild;
  for (const part of parts) {
    const node = typeof part === 'string' ? fillText(box, at, part) : fillElement(box, at, part);
    at = node.nextSibling;
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
};

export const take = (box, at, fresh) => {
  if (at) at.replaceWith(fresh);
  else box.append(fresh);
  return fresh;
};

export const fillText = (box, at, text) => {
  if (at?.nodeType !== 3) return take(box, at, document.createTextNode(text));
  if (at.data !== text) at.data = text;
  return at;
};

export const fillElement = (box, at, [tag, attributes, ...parts]) => {
  const drawn = tag === 'svg' || box.namespaceURI === SVG;
  const node = at?.localName === tag ? at : take(box, at, drawn ? svgNode(tag) : document.createElement(tag));
  const before = node.filled ?? {};
  for (const name in before) if (!(name in attributes)) node.removeAttribute(name);
  for (const name in attributes) if (before[name] !== attributes[name]) node.setAttribute(name, attributes[name]);
  node.filled = attributes;
  if (parts[0] !== KEEP) fill(node, parts);
  return node;
};

// Inside `box`, what carries the number of a node is hovered and pinned like the node itself.
export const linkNodes = (view, box) => {
  const of = event => event.target.closest('[data-node]')?.dataset.node;
  view.on(box, 'pointerover', event => {
    if (event.pointerType !== 'touch') view.hover(of(event) === undefined ? null : Number(of(event)));
  });
  view.on(box, 'pointerleave', () => view.hover(null));
  view.on(box, 'click', event => {
    if (of(event) !== undefined) view.pin(Number(of(event)));
  });
};
