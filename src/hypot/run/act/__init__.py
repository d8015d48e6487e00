"""Executing decisions: the writes, their order, and their results."""
