"""Replays recorded demand against any policy in a simulated cluster, to show what would have happened."""
