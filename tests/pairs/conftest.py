"""The server of one file, for whoever fetches from it."""

from file_server import server

__all__ = ["server"]
