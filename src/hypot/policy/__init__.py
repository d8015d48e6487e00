"""Decisions: pure functions from the observed state and the stored state to the desired state, each step explained."""
