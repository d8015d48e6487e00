"""Replicas and sizes together: intervals, gates, saturation."""
