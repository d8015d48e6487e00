"""Decisions as plain numbers, for speed (the "numeric step"), and how manifests become these numbers."""
