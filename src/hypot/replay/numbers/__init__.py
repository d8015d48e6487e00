"""Decisions as plain numbers, for speed (the "quick step"), and how manifests become these numbers."""
