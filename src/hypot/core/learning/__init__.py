"""What is learned from weeks: needs by slot, and targets."""
