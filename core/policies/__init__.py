"""Ways to draft, one file each, and what a run may ask of a pair. Knows heads and candidates; nothing of verification."""
