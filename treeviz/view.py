"""trace_view(): the linked tree, mask and token stream as one `gr.HTML`. The only module that knows the browser side.

The template is constant and empty: gradio would run what it finds there. The view itself is ES modules (`assets/view/`), which
travel together as a pack: our own page asks for it at each load, so that a change to a module is seen, and in a page of somebody
else's it comes with the component. All text reaches the view as one JSON-lines string in `value`, and is written with
`textContent` only.

A pack needs no server. The modules import each other by relative paths, none imports one that imports it, and none holds an address
but those of a host (`assets/view/host/`): a single file, or a notebook, can carry the pack, `styles()` and a run's lines, make a blob
of each module as `assets/page/view.js` does, and begin with a shell (`shell.js`) that has no host.
"""

from __future__ import annotations

import json
from pathlib import Path

import gradio as gr

from .story.language import LANGUAGES

ASSETS = Path(__file__).resolve().parent.parent / "assets"
STYLES = ("base", "text", "tree", "legend", "panels", "details", "sentence", "room", "views", "fills", "why",
          "whycharts", "low", "forced", "print")  # in the order of the cascade
PACK = "treeviz/view.json"  # where our own page hands out the pack
BETWEEN = "\x1f"  # the languages of a message


def _text(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def script(name: str, **given) -> str:
    """What gradio is given to run in the browser, of `assets/page/`; a word in capitals there is a value that is given here."""
    text = _text(f"page/{name}.js")
    for word, value in given.items():
        text = text.replace(f" {word};", f" {json.dumps(value)};")
    return text


def pack() -> dict:
    """The view as it lies there now: {"modules": {name: text}, "words": {language: its name, what its switch says, and its words
    of the view}}."""
    modules = sorted((ASSETS / "view").rglob("*.js"))
    words = {}
    for language in LANGUAGES:
        there = {"name": language, "switch": language, "view": {}} | json.loads(_text(f"words/{language}.json"))
        words[language] = {part: there[part] for part in ("name", "switch", "view")}
    return {"modules": {path.relative_to(ASSETS / "view").as_posix(): path.read_text(encoding="utf-8") for path in modules},
            "words": words}


def styles() -> str:
    return "".join(_text(f"view/styles/{name}.css") for name in STYLES)


def head() -> str:
    """For the head of our own page: the styles around the view, and the pack, so that it comes before it is asked for."""
    return f'<style>{_text("page/page.css")}</style>\n<link rel="preload" as="fetch" crossorigin href="{PACK}">'


def trace_view(shown: str = "", address: str = "", **settings) -> gr.HTML:
    """The step-through view of a trace: its value is the trace's page lines (`treeviz.story.lines`), or a reference to a run on
    the server (`treeviz.page.shelf`), which the browser reads as it grows.

    Give it a longer string that starts with the one it has, and it appends; any other string is a new run. address: where the
    page's own server hands out the pack; else it comes with the component.
    """
    return gr.HTML(value=shown, html_template='<div class="tv-mount"></div>', css_template=styles(),
                   js_on_load=script("view", GIVEN=address or pack()), apply_default_css=False, elem_classes=["tv-host"], **settings)


def message_view(**settings) -> gr.HTML:
    """One line of plain text for progress and errors, in the language of the page: its value is a `message`."""
    return gr.HTML(value="", html_template='<div class="tv-message" role="status" hidden></div>', js_on_load=script("message"),
                   css_template=_text("page/message.css"), apply_default_css=False, languages=list(LANGUAGES), **settings)


def message(kind: str, said: dict[str, str]) -> str:
    """What `message_view` shows; `kind` is "ok", "busy" or "error". In every language, so that a switch of the page's
    language finds also what was said before it."""
    return f"{kind}:{BETWEEN.join(said[language] for language in LANGUAGES)}"
