"""What was used, as histograms, and the size that follows from it."""
