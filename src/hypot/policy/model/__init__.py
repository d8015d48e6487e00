"""The values that decisions read and produce: observations, decisions, state, plans and settings."""
