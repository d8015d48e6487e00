"""What would be cheaper for a workload than what it has today: calibrated, tried on its own history, and judged."""
