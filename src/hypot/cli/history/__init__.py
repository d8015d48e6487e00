"""hypot history: what Tortoises learned, and what they learn from recorded usage."""
