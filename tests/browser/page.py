"""What the browser tests ask of the page."""


def now(page):
    return page.eval_on_selector(".tv", "e => { const v = e.treeviz, s = v.state; return {round: s.round, frame: s.frame, kind: "
                                 "v.frame.kind, pin: s.pin, hover: s.hover, rounds: v.data.rounds}; }")


def sentence(page):
    return page.text_content(".tv-say")


def open_sidebar(page, decode="Decode"):
    page.click("[data-action=runs]")
    page.wait_for_selector(f"button:has-text('{decode}'):visible >> nth=0")


def unfold(page, fold):
    """Opens a part of the form. Gradio goes on filling its fields for a moment; nobody types as fast as a test."""
    fold.click()
    page.wait_for_timeout(600)


def speak(page, language):
    """Presses the switch of language until it is the one that is wanted: there may be many."""
    page.evaluate("""language => {
      const seen = new Set(), now = () => document.querySelector('.tv').treeviz.state.lang;
      while (now() !== language && !seen.has(now())) {
        seen.add(now());
        document.querySelector('[data-action=lang]').click();
      }
    }""", language)
