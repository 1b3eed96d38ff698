// A trace on its way to the server: whether it is too large is said before it goes, and how far it is while it goes.

const megabytes = size => Math.ceil(size / 2 ** 20);

export const watchUploads = shell => {
  const theirs = globalThis.fetch;
  if (theirs.watched) return;
  const refuse = event => {
    const input = event.target,
      [file] = input.type === 'file' ? input.files : [],
      most = globalThis.gradio_config?.max_file_size;
    if (!file || !most || file.size <= most) return;
    event.stopImmediatePropagation();
    shell.toast(shell.say('tooLarge', {name: file.name, size: megabytes(file.size), most: megabytes(most)}));
    input.value = '';
  };
  shell.life.on(document, 'change', refuse, {capture: true}); // on its way down, before gradio hears it
  // fetch does not tell how far it is, and gradio's client asks through it; only files take the other way.
  const told = share =>
    shell.toast(shell.say(share < 1 ? 'uploading' : 'opening', {share: Math.floor(100 * share)}));
  const ours = (address, options) =>
    options?.body instanceof FormData && options.body.has('files')
      ? post(address, options, told).catch(() => {
          throw new TypeError(shell.say('uploadLost'));
        })
      : theirs.call(globalThis, address, options);
  ours.watched = true;
  globalThis.fetch = ours;
  shell.life.signal.addEventListener('abort', () => {
    if (globalThis.fetch === ours) globalThis.fetch = theirs;
  });
};

const post = (address, {headers, body}, told) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', address);
    for (const [name, value] of Object.entries(headers ?? {})) request.setRequestHeader(name, value);
    request.upload.onprogress = ({loaded, total}) => told(loaded / total);
    request.onload = () => resolve(new Response(request.responseText, {status: request.status}));
    request.onerror = () => reject(new TypeError());
    request.send(body);
  });
