"""Carries out a decision on count and sizes step by step: which writes come next."""
