"""Pairs by name, checkpoints in, downloads, and from typed text to ids. Knows nothing of decoding."""
