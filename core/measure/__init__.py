"""What decoding costs, what it bought, and whether it is lossless. Knows nothing of who asks, and prints nothing.

What reads traces only needs no torch (wanted, whatif, lost, calibration, shapes), nor does the cost that was measured.
"""
