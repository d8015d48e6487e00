"""hypot metrics: the metrics server."""
