"""hypot recommend."""
