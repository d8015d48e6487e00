"""The controller: each reconcile observes, decides, acts, reports and saves its state, for all autoscalers."""
