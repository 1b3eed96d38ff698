// Writes to the page only what is not there yet: a step changes little, and what stays as it is need not be laid out
// again. Nodes are written over rather than replaced: when one comes or goes, the browser looks over the whole page for
// the sake of gradio's `:has()` rules.

TV.put = (node, name, value) => { if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value); };

TV.write = (node, text) => {
  const only = node.firstChild;
  if (only?.nodeType === 3 && !only.nextSibling) { if (only.data !== text) only.data = text; }
  else if (node.textContent !== text) node.textContent = text;
};

TV.hide = (node, on) => { if (node.hidden !== on) node.hidden = on; };

// Has `box` hold `parts`: each a text, or [tag, attributes, ...parts]; with TV.KEEP for parts an element keeps what it has.
TV.KEEP = null;
TV.fill = (box, parts) => {
  let at = box.firstChild;
  for (const part of parts) {
    const node = typeof part === 'string' ? TV.fillText(box, at, part) : TV.fillElement(box, at, part);
    at = node.nextSibling;
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
};

TV.take = (box, at, fresh) => { if (at) at.replaceWith(fresh); else box.append(fresh); return fresh; };

TV.fillText = (box, at, text) => {
  if (at?.nodeType !== 3) return TV.take(box, at, document.createTextNode(text));
  if (at.data !== text) at.data = text;
  return at;
};

TV.fillElement = (box, at, [tag, attributes, ...parts]) => {
  const node = at?.localName === tag ? at : TV.take(box, at, document.createElement(tag)), before = node.filled ?? {};
  for (const name in before) if (!(name in attributes)) node.removeAttribute(name);
  for (const name in attributes) if (before[name] !== attributes[name]) node.setAttribute(name, attributes[name]);
  node.filled = attributes;
  if (parts[0] !== TV.KEEP) TV.fill(node, parts);
  return node;
};

// Inside `box`, what carries the number of a node is hovered and pinned like the node itself.
TV.link = (view, box) => {
  const of = event => event.target.closest('[data-node]')?.dataset.node;
  box.addEventListener('pointerover', event => {
    if (event.pointerType !== 'touch') view.hover(of(event) === undefined ? null : Number(of(event)));
  });
  box.addEventListener('pointerleave', () => view.hover(null));
  box.addEventListener('click', event => { if (of(event) !== undefined) view.pin(Number(of(event))); });
};
