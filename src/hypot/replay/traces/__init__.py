"""Recorded demand from CSV, Parquet and Prometheus."""
