"""hypot run, and what installs it."""
