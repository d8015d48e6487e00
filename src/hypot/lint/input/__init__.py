"""The objects that rules look at: each read once, and found by what rules ask for."""
