"""The metrics server: it scrapes pods, derives rates, and serves them to autoscalers."""
