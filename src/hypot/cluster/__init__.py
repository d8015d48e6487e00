"""Access to a real cluster: the API server, cached objects, and leader election for writes."""
