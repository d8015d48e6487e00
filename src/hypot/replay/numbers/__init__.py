"""Decisions from plain numbers, for speed, and how manifests are turned into these numbers."""
