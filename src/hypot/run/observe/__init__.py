"""What the controller watches and queries."""
