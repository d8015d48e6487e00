"""Demand history from Prometheus: a server that is asked, or a file with its answer."""
