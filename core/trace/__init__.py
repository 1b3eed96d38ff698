"""The trace of a run: a document for people and programs, and the events it is folded from.

Knows nothing of pages, and nothing of torch but in its recorder (`record.py`, with `inputs.py`).
"""

from .document import SCHEMA_VERSION, Trace
from .lines import TraceError
from .parts import Output, Prompt, Round, TokenText

__all__ = ["SCHEMA_VERSION", "Output", "Prompt", "Round", "TokenText", "Trace", "TraceError"]
