"""The input objects that rules check, read once and indexed for lookups."""
