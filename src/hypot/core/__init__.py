"""Arithmetic on plain numbers: every rule of scaling stands here once, and nothing of the project is imported."""
