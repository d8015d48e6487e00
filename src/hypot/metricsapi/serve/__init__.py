"""The metrics APIs: discovery, values and errors, as Kubernetes expects them."""
