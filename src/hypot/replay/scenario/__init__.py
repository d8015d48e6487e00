"""Known problems of autoscalers, each with a policy that has it and one that solves it."""
