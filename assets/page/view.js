// Run by gradio where the view is to be. It knows those events of a component whose names stand in its script:
// 'select', 'language', 'retry'. GIVEN is the view as `treeviz/view.py` packs it, or where that can be asked for.
const given = GIVEN;
const ask = async () => (typeof given === 'string' ? (await fetch(new URL(given, document.baseURI))).json() : given);

// Each module is a blob whose imports are the addresses of blobs made before it; in the debugger it has its own name.
ask().then(async ({modules, words}) => {
  const made = {};
  const make = name => {
    const beside = to => address(new URL(to, `file:///${name}`).pathname.slice(1));
    const text = modules[name].replace(/ from '(.+?)';/g, (_, to) => ` from '${beside(to)}';`);
    return URL.createObjectURL(new Blob([`${text}\n//# sourceURL=treeviz/view/${name}`], {type: 'text/javascript'}));
  };
  const address = name => (made[name] ??= make(name));
  const {mount} = await import(address('host/gradio.js'));
  mount(element, props, watch, trigger, words);
  for (const name in made) URL.revokeObjectURL(made[name]);
});
