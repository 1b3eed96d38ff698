"""A page that has nothing but a view's modules and styles: no gradio, no server. The modules are the files themselves."""

from pathlib import Path

from treeviz.view import ASSETS, pack, styles

PLACE = "http://blank.test/"
PAGE = """<!doctype html><meta charset=utf-8><title>blank</title><style>body { margin: 8px; } .box { width: 900px; }</style>
<style>STYLES</style><div class=box></div><div class=box></div>"""
# Counts what is listened to, observed and waited for, and not let go of.
COUNT = """() => {
  const open = globalThis.open = {listeners: 0, observers: 0, timers: 0};
  const {addEventListener, removeEventListener} = EventTarget.prototype;
  EventTarget.prototype.addEventListener = function (type, heard, options) {
    open.listeners++;
    if (options?.signal) addEventListener.call(options.signal, 'abort', () => { open.listeners--; }, {once: true});
    return addEventListener.call(this, type, heard, options);
  };
  EventTarget.prototype.removeEventListener = function (...of) {
    open.listeners--;
    return removeEventListener.apply(this, of);
  };
  for (const name of ['ResizeObserver', 'MutationObserver', 'IntersectionObserver']) {
    const {observe, disconnect} = globalThis[name].prototype, watching = new WeakSet();
    globalThis[name].prototype.observe = function (...of) {
      if (!watching.has(this)) open.observers++;
      watching.add(this);
      return observe.apply(this, of);
    };
    globalThis[name].prototype.disconnect = function () {
      if (watching.delete(this)) open.observers--;
      return disconnect.call(this);
    };
  }
  for (const [begin, forget] of [['setTimeout', 'clearTimeout'], ['requestAnimationFrame', 'cancelAnimationFrame']]) {
    const waiting = new Set(), [start, stop] = [globalThis[begin], globalThis[forget]];
    const over = number => { if (waiting.delete(number)) open.timers--; };
    globalThis[begin] = (action, ...of) => {
      const number = start((...with_) => { over(number); action(...with_); }, ...of);
      waiting.add(number);
      open.timers++;
      return number;
    };
    globalThis[forget] = number => { over(number); stop(number); };
  }
}"""


class Blank:
    """Opens blank pages, and writes down what should not happen on them."""

    def __init__(self, browser):
        self.browser, self.contexts, self.complaints = browser, [], []

    def open(self, hash="", **settings):
        settings = {"viewport": {"width": 1200, "height": 900}, "reduced_motion": "reduce", "locale": "en-GB"} | settings
        context = self.browser.new_context(**settings)
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: self.complaints.append(str(e)))
        page.route(f"{PLACE}**", self._answer)
        page.goto(f"{PLACE}{hash}")
        page.evaluate("words => { globalThis.words = words; }", pack()["words"])
        return page

    @staticmethod
    def _answer(route):
        name = route.request.url.removeprefix(PLACE).partition("#")[0]
        if not name:
            route.fulfill(body=PAGE.replace("STYLES", styles()), content_type="text/html")
        elif name.startswith("view/") and Path(ASSETS / name).is_file():
            route.fulfill(path=ASSETS / name, content_type="text/javascript")
        else:
            route.fulfill(status=204)

