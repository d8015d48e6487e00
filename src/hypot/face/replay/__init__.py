"""The results of a replay as tables, pages and pictures."""
