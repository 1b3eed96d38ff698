"""From a trace to what is told of it: frames, sentences, layout, lines, source. Knows no gradio, no plotly and no torch."""
