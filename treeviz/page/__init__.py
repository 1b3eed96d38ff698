"""The Gradio page: its form, its runs, and who may come in. Knows nothing of torch until something is decoded."""
