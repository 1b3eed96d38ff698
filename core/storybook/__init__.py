"""The storybook pair's own writing: a generator of simple stories, and what trains a small Llama on them."""

from .tell import opening, story

__all__ = ["opening", "story"]
