"""What a replay came to, as tables, pages and pictures."""
