"""trace_view(): the linked tree, mask and token stream as one `gr.HTML`. The only module that knows the browser side.

The template is constant and holds no `${}` and no `{{}}`: gradio would run what it finds there. All text reaches
the page as one JSON-lines string in `value`, and the scripts write it with `textContent` only.
"""

from __future__ import annotations

from pathlib import Path

import gradio as gr

ASSETS = Path(__file__).resolve().parent.parent / "assets"
SCRIPTS = ("view-words.js", "view-data.js", "view-fill.js", "view-place.js", "view-fan.js", "view-tree.js", "view-zoom.js",
           "view-stream.js", "view-panels.js", "view-paint.js", "view-mask.js", "view-details.js", "view-export.js", "view.js",
           "view-controls.js")
HOST = ("page-upload.js", "page-runs.js")  # what comes from and goes to the server: no part of the view

BETWEEN = "\x1f"  # the languages of a message
MESSAGE_SCRIPT = """
const line = element.querySelector('.tv-message');
const show = first => {
  const value = typeof props.value === 'string' ? props.value : '';
  const [english, chinese = english] = value.replace(/^(ok|busy|error):/, '').split('\\x1f');
  line.textContent = document.documentElement.lang === 'zh' ? chinese : english;
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


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def trace_view(shown: str = "", **settings) -> gr.HTML:
    """The step-through view of a trace: its value is the trace's page lines (`treeviz.story.lines`), or a reference to a run on
    the server (`treeviz.page.shelf`), which the browser reads as it grows.

    Give it a longer string that starts with the one it has, and it appends; any other string is a new run.
    """
    script = "const TV = {};\n" + "\n".join(_asset(name) for name in (*SCRIPTS, *HOST))
    script += "\nTV.mount(element, props, watch, trigger);\n"
    return gr.HTML(value=shown, html_template=_asset("view.html"), css_template=_asset("view.css"), js_on_load=script,
                   apply_default_css=False, elem_classes=["tv-host"], **settings)


def message_view(**settings) -> gr.HTML:
    """One line of plain text for progress and errors, in the language of the page: its value is a `message`."""
    return gr.HTML(value="", html_template='<div class="tv-message" role="status" hidden></div>',
                   css_template=_asset("message.css"), js_on_load=MESSAGE_SCRIPT, apply_default_css=False, **settings)


def message(kind: str, said: dict[str, str]) -> str:
    """What `message_view` shows; `kind` is "ok", "busy" or "error". In every language, so that a switch of the page's
    language finds also what was said before it."""
    return f"{kind}:{said['en']}{BETWEEN}{said['zh']}"
