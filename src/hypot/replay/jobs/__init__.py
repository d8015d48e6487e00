"""Many replays at once: in processes, or on a Dask cluster."""
