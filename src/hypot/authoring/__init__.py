"""Autoscalers as text and as values: read, compared, made from a few words, converted, and written as Python."""
