"""The simulated world: recorded demand, any policy, and what would have happened."""
