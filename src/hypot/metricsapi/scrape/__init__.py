"""Scraping: targets, their answers, and the samples that rules need."""
