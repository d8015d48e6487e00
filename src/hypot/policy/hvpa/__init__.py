"""Count and sizes in one decision: from the totals needed to a number of replicas and their size."""
