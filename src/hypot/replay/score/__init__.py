"""What a run is judged by."""
