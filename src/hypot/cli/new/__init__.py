"""hypot new."""
