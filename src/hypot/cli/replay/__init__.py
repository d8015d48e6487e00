"""hypot replay."""
