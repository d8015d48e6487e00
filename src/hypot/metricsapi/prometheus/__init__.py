"""Values from a Prometheus: the query of a rule, its answer, and when it is sent."""
