// The keys of a page with a view. They are heard where nobody types, and while the view is in sight.

const TYPING = 'input, textarea, select, [contenteditable], [role=slider], [role=listbox], [role=tab]:not(.tab)';

const EVERYWHERE = new Set(['[', ']', 'Escape', '?']); // in the views beside the round's, too

export const listenToKeys = shell => {
  const {view, root} = shell,
    step = by => {
      view.set({playing: false});
      view.step(by);
    };
  const leave = () => {
    if (view.state.look !== 'round') view.set({look: 'round'});
    else view.set(view.state.pin === null ? {present: false, hover: null} : {pin: null, hover: null});
  };
  const actions = {
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    '[': () => view.toRound(view.state.round - 1),
    ']': () => view.toRound(view.state.round + 1),
    ArrowUp: () => view.walk('ArrowUp'),
    ArrowDown: () => view.walk('ArrowDown'),
    Home: () => view.set({frame: 0}),
    End: () => view.set({frame: 1e6}),
    0: () => view.tree.fit(!view.tree.whole),
    ' ': () => view.set({playing: !view.state.playing}),
    Escape: leave,
    '?': () => shell.showHelp(),
    p: () => view.set({present: !view.state.present}),
    t: () => view.set({down: !view.state.down}),
  };
  shell.life.on(document, 'keydown', event => {
    if (!root.isConnected) {
      shell.destroy(); // whoever took it away has told nobody
      return;
    }
    const target = event.target,
      action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (event.ctrlKey || event.metaKey || event.defaultPrevented || (shell.help.open && event.key !== '?')) return;
    if (event.key === 'Escape' && shell.menu.open) {
      event.preventDefault();
      shell.menu.open = false;
      shell.buttons.more.focus();
      return;
    }
    if (target.closest?.(TYPING)) return;
    if (!view.model || !root.offsetParent) return;
    const node = target.closest?.('[data-node]');
    const chosen = event.key === 'Enter' || (event.key === ' ' && view.reached); // after a click, space plays
    if (chosen && node && view.ref.tree.contains(node)) {
      event.preventDefault();
      view.pin(Number(node.dataset.node));
      return;
    }
    if (event.altKey) {
      if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
        event.preventDefault();
        view.descend(event.key === 'ArrowLeft');
      }
      return;
    }
    if (event.key === ' ' && target.closest?.('button, summary, a')) return;
    if (!action || (view.state.look !== 'round' && !EVERYWHERE.has(event.key))) return;
    event.preventDefault();
    action();
  });
};
