"""What containers used: histograms, and the sizes that are read from them."""
