"""What decoding costs and whether it is lossless: the bench and the check. Knows nothing of who asks, and prints nothing."""
