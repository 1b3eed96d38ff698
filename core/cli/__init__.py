"""The commands and their flags. Knows nothing of how anything is done: all of that is elsewhere."""
