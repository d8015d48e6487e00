"""Decisions of an Autoscaler: the cheapest rule on the workload's own past."""
