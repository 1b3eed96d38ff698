"""A complete, lossless EAGLE-2 decoder for Llama-family models that tells everything it does as an event trace.

Names are loaded on first use: reading a recorded trace (`core.trace.document`) must not pull in torch.
"""

import sys
from importlib import import_module
from importlib.util import find_spec

# Whoever starts app.py or python -m core with the wrong Python comes by here first. These three files parse on old ones.
_wrong_python = (
    f"TreeViz needs Python 3.11 or newer and this is {sys.version_info[0]}.{sys.version_info[1]}; make the virtual environment "
    "with a newer one, like python3.11 -m venv .venv." if sys.version_info < (3, 11)
    else "" if find_spec("pydantic")
    else "TreeViz's packages are not installed for this Python; use .venv/bin/python, or pip install -r requirements.txt.")
if _wrong_python:
    print(f"error: {_wrong_python}", file=sys.stderr)
    sys.exit(2)

_HOME = {
    "DecodeConfig": "config", "Trace": "trace", "TraceError": "trace", "TraceBuilder": "trace.events", "fold": "trace.events",
    "load_pair": "pairs.checkpoint", "CheckpointError": "pairs.checkpoint", "load_named": "pairs.named",
    "decode": "trace.record", "stream": "trace.record", "generate": "trace.record", "DecodeInterrupted": "trace.record",
    "DecodeError": "errors",
}
__all__ = list(_HOME)


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
