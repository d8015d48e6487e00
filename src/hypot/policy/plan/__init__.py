"""A decision on both axes in single steps: which writes come next."""
