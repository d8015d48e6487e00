"""The objects that install hypot in a cluster."""
