"""Reads a live cluster for `decide` and `lint`, without changing anything."""
