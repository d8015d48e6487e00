"""Known problems of autoscalers, each with a policy that causes it and one that solves it."""
