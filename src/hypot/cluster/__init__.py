"""The real world: an API server, what is kept of it, and who may write to it."""
