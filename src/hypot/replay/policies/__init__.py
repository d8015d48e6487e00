"""What is replayed: policies from manifests, and grids of parameter values."""
