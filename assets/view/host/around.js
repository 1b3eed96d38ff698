// What gradio's page has around a view: its theme, the sidebar with the form, its file input.

const watchClass = ({life}, node, apply) => {
  life.observe(new MutationObserver(apply), node, {attributes: true, attributeFilter: ['class']});
  apply();
};

export const gradioAround = shell => {
  const {body} = document; // gradio marks the dark theme there
  watchClass(shell, body, () => shell.theme(body.classList.contains('dark')));
  fillWindow(shell);
  takeDrops(shell);
  findSidebar(shell);
};

// What of the window is the view's: all that lies under it, but for a margin.
const fillWindow = ({life, root}) => {
  const fill = () => {
    const top = root.getBoundingClientRect().top + scrollY;
    if (root.offsetParent && !root.classList.contains('present'))
      root.style.setProperty('--tv-height', `${innerHeight - Math.round(top) - 8}px`);
    else root.style.setProperty('--tv-height', `${innerHeight - 16}px`);
  };
  life.observe(new ResizeObserver(fill), document.body);
  life.on(globalThis, 'resize', fill);
  fill();
};

// The sidebar may come after the view, or never. What it holds while closed, gradio only moves out of the window: the
// Tab key must not go there either.
const findSidebar = (shell, tries = 40) => {
  const side = document.querySelector('.sidebar');
  if (!side) {
    if (tries) shell.life.later('sidebar', () => findSidebar(shell, tries - 1), 250);
    return;
  }
  shell.offer('runs', () => document.querySelector('.sidebar .toggle-button')?.click());
  watchClass(shell, side, () => {
    for (const part of side.querySelectorAll('.sidebar-content')) part.inert = !side.classList.contains('open');
  });
};

// A file dropped on the view goes the way of the page's own file input.
const takeDrops = ({life, root}) => {
  const over = on => event => {
    event.preventDefault();
    root.classList.toggle('dragging', on);
  };
  life.on(root, 'dragover', over(true));
  life.on(root, 'dragleave', over(false));
  life.on(root, 'drop', event => {
    over(false)(event);
    const input = document.querySelector('input[type=file]');
    if (!input || !event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event('change', {bubbles: true}));
  });
};
