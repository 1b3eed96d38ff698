"""What every room needs: sentences with ink, files of text and JSON, memory that ran out. Knows nothing of decoding."""
