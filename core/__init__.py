"""A complete, lossless EAGLE-2 decoder for Llama-family models that tells everything it does as an event trace.

Names are loaded on first use: reading a recorded trace (`core.trace`) must not pull in torch.
"""

from importlib import import_module

_HOME = {
    "DecodeConfig": "config", "Trace": "trace", "TraceError": "trace", "TraceBuilder": "events", "fold": "events",
    "load_pair": "checkpoint", "CheckpointError": "checkpoint", "load_named": "pairs",
    "decode": "record", "stream": "record", "generate": "record", "DecodeError": "decoder",
    "DecodeInterrupted": "record",
}
__all__ = list(_HOME)


def __getattr__(name: str):
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
