"""The scores of a run."""
