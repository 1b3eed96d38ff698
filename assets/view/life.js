// What a part of the page listens to, observes and waits for, so that nothing of it stays when the part goes.

export class Life {
  constructor() {
    this.ending = new AbortController();
    this.observers = [];
    this.timers = new Map(); // by name: [what forgets it, its number]
  }

  // For what ends by itself where this is aborted.
  get signal() {
    return this.ending.signal;
  }

  on(target, type, heard, options = {}) {
    target.addEventListener(type, heard, {...options, signal: this.signal});
  }

  // Has an observer look at something, as it asks for.
  observe(observer, target, options) {
    observer.observe(target, options);
    this.observers.push(observer);
  }

  // One of a name: what waits under it already is forgotten.
  later(name, action, milliseconds) {
    this.wait(name, action, clearTimeout, done => setTimeout(done, milliseconds));
  }

  // The same, before the next painting.
  nextFrame(name, action) {
    this.wait(name, action, cancelAnimationFrame, done => requestAnimationFrame(done));
  }

  wait(name, action, forget, begin) {
    this.stop(name);
    if (this.signal.aborted) return;
    const done = now => {
      this.timers.delete(name);
      action(now);
    };
    this.timers.set(name, [forget, begin(done)]);
  }

  stop(name) {
    const [forget, number] = this.timers.get(name) ?? [];
    forget?.(number);
    this.timers.delete(name);
  }

  end() {
    this.ending.abort();
    for (const observer of this.observers) observer.disconnect();
    for (const name of [...this.timers.keys()]) this.stop(name);
  }
}
