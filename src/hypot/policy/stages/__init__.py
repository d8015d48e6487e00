"""What all kinds share of the stages: resolve, restrain, and the report of what they did."""
