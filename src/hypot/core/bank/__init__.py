"""Rules that are priced on a workload's own past: each says what it would have held, and the cheapest decides."""
