"""trace_view(): the linked tree, mask and token stream as one `gr.HTML`. The only module that knows the browser side.

The template is constant and empty: gradio would run what it finds there. The view itself is ES modules (`assets/view/`), which the
browser asks for one by one, so that a change to one of them is seen at the next load of the page. All text reaches it as one
JSON-lines string in `value`, and is written with `textContent` only. The modules import each other by relative paths and hold
no address, so that a single file may carry them too, as an import map.
"""

from __future__ import annotations

import json
from pathlib import Path

import gradio as gr

from .story.language import LANGUAGES

ASSETS = Path(__file__).resolve().parent.parent / "assets"
SERVED = ("view", "words")  # of the assets, what a browser asks for
STYLES = ("base", "text", "tree", "legend", "panels", "details", "sentence", "room")  # in the order of the cascade
MODULES = tuple(sorted(f"{path.relative_to(ASSETS)}" for path in (ASSETS / "view").rglob("*.js")))
OURS = "/treeviz/assets"  # where our own page serves them
BETWEEN = "\x1f"  # the languages of a message

# Run by gradio once the component is there. It knows those events of a component whose names stand in its script.
SCRIPT = r"""
// 'select', 'language', 'retry'
const root = (globalThis.gradio_config?.root ?? '').replace(/\/$/, '');
import(root + %s + '/view/host/gradio.js').then(({mount}) => mount(element, props, watch, trigger, %s));
"""
MESSAGE_SCRIPT = r"""
const line = element.querySelector('.tv-message'), languages = %s;
const show = first => {
  const value = typeof props.value === 'string' ? props.value : '';
  const said = value.replace(/^(ok|busy|error):/, '').split('\x1f');
  line.textContent = said[Math.max(0, languages.indexOf(document.documentElement.lang))] ?? said[0];
  line.dataset.kind = (value.match(/^(ok|busy|error):/) || ['', ''])[1];
  line.hidden = !line.textContent;
  // An answer is brought into sight; in the next painting, when the line has its room.
  if (first !== true && ['ok', 'error'].includes(line.dataset.kind)) requestAnimationFrame(
    () => { if (line.getBoundingClientRect().right > 0) line.scrollIntoView({block: 'nearest'}); });  // not in a closed sidebar
};
watch('value', show);
show(true);
new MutationObserver(() => show(true)).observe(document.documentElement, {attributes: true, attributeFilter: ['lang']});
"""


def trace_view(shown: str = "", address: str = "", **settings) -> gr.HTML:
    """The step-through view of a trace: its value is the trace's page lines (`treeviz.story.lines`), or a reference to a run on
    the server (`treeviz.page.shelf`), which the browser reads as it grows.

    Give it a longer string that starts with the one it has, and it appends; any other string is a new run. address: where the
    server hands out the assets, below its root; in an app of your own gradio does, as static files.
    """
    if not address:
        gr.set_static_paths([ASSETS / part for part in SERVED])
        address = f"/gradio_api/file={ASSETS.as_posix()}"
    style = "".join((ASSETS / "view" / "styles" / f"{name}.css").read_text(encoding="utf-8") for name in STYLES)
    return gr.HTML(value=shown, html_template='<div class="tv-mount"></div>', css_template=style,
                   js_on_load=SCRIPT % (json.dumps(address), json.dumps(LANGUAGES)), apply_default_css=False,
                   elem_classes=["tv-host"], **settings)


def message_view(**settings) -> gr.HTML:
    """One line of plain text for progress and errors, in the language of the page: its value is a `message`."""
    return gr.HTML(value="", html_template='<div class="tv-message" role="status" hidden></div>',
                   css_template=(ASSETS / "message.css").read_text(encoding="utf-8"), js_on_load=MESSAGE_SCRIPT % json.dumps(LANGUAGES),
                   apply_default_css=False, **settings)


def message(kind: str, said: dict[str, str]) -> str:
    """What `message_view` shows; `kind` is "ok", "busy" or "error". In every language, so that a switch of the page's
    language finds also what was said before it."""
    return f"{kind}:{BETWEEN.join(said[language] for language in LANGUAGES)}"
