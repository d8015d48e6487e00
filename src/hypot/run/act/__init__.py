"""Executing decisions: the writes, their order, and what came of them."""
