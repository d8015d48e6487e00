"""Decisions: pure functions from what is seen and remembered to what should be, with every step explained."""
