"""Training a head: text, features, the loss, the loop. Knows nothing of traces and pages."""
