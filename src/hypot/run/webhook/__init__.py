"""The webhook that sizes new pods, and its certificates."""
