"""The two models of a pair and what they compute with: target, head, caches, attention. Knows nothing of trees that grow, text or files."""
