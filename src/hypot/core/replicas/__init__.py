"""How many replicas: ratios, bounds, windows and watermarks."""
