"""The commands and their flags. Everything they do is done elsewhere."""
