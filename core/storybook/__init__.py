"""The storybook pair's own writing: a generator of simple stories, and what trains a small Llama on them.

Knows nothing of trees, policies and traces; its stories are made without torch.
"""

from .tell import opening, story

__all__ = ["opening", "story"]
