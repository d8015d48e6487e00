"""Both axes at once: how much in total, so how many replicas of which size."""
