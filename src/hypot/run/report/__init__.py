"""What the controller reports: statuses, events, metrics and logs."""
