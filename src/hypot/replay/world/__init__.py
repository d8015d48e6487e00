"""The simulated cluster (the "world"): its parameters, and what happens in it in one tick."""
