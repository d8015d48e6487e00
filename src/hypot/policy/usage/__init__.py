"""The usage of containers: histograms, and the sizes that are read from them."""
