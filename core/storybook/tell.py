"""One story from one seed. The same seed tells the same story."""

from __future__ import annotations

from . import more_plots, plots, words
from .scenes import Story, a

PLOTS = (plots.lost_thing, plots.great_vegetable, plots.fear, plots.three_doors, plots.riddle, plots.garden_week, more_plots.wish,
         more_plots.contest, more_plots.treasure_map, more_plots.rescue, more_plots.counting, more_plots.trading, more_plots.islands)
TITLED = 0.3  # the part of the stories that begin with a title


def story(seed: int) -> str:
    """A story of about 150 to 350 words: paragraphs parted by empty lines, sometimes under a title."""
    head, text = _told(seed)
    return head + text


def opening(seed: int, words: int = 12) -> str:
    """The first words of a story, the title left out: a prompt."""
    return " ".join(_told(seed)[1].split(" ")[:words])


def _told(seed: int) -> tuple[str, str]:
    s = Story(seed)
    h, f = s.hero, s.friend
    kinds = [*words.ANIMALS, *words.PEOPLE]  # every kind has a plot that happens to it most
    plot = PLOTS[kinds.index(h.kind) % len(PLOTS)] if s.likely(0.35) else s.any(PLOTS)
    titled, first = s.likely(TITLED), s.opening()
    title, paragraphs = plot(s)
    title = s.say(title, f"The Story of {h.full}", f"A story about {a(h.kind)} and {a(f.kind)}", f"{h.name} and {f.name}")
    return (title + "\n\n") * titled, "\n\n".join([first, *paragraphs, s.ending()])
