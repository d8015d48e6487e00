"""From Kubernetes objects to what each autoscaler observes. Nothing is decided here."""
