"""What the controller watches and asks for."""
