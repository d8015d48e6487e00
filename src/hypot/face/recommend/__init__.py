"""What would be cheaper for the workloads of a cluster, as a page."""
