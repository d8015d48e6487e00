"""Arithmetic on plain numbers: each scaling rule is implemented here once. Imports nothing else from the project."""
