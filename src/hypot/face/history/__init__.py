"""The week as a Tortoise learned it, as a chart."""
