"""What a request costs, learned from the scrapes of a rule, and changes of it."""
