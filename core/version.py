"""The version of TreeViz, written into every trace."""

__version__ = "0.1.0"
