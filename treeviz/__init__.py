"""The viewer of EAGLE-2 traces. Knows nothing of torch.

For notebooks: `tree_figure(round, trace)`, `mask_figure(round, trace)`, `to_networkx(round, trace)`.
"""

from importlib import import_module

_HOME = {"tree_figure": "figures", "mask_figure": "figures", "to_networkx": "graph", "trace_view": "view",
         "page_lines": "story.lines"}
__all__ = list(_HOME)


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
