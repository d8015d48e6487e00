"""Decisions of a Tortoise: what it learned becomes the bounds and targets of an HPA, and the sizes of containers."""
