"""Kubernetes objects from YAML and JSON text, with the file and line of each."""
