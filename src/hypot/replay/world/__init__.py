"""The simulated world: its parameters, and what happens in it in one tick."""
