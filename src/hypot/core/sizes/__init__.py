"""How large a pod may be, and how it gets a new size."""
