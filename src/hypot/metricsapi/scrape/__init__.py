"""Scraping: which target is next, its credentials, and the request."""
