"""Renders charts and kustomizations with the user's own tools, so that the result can be checked."""
