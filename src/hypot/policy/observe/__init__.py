"""From Kubernetes objects to what each autoscaler sees. Nothing is decided here."""
