"""The nearest equivalent of an autoscaler as another kind, with notes on what differs."""
