"""The plain engine: a policy in a closed loop with the simulated world, tick by tick."""
