"""The controller: observe, decide, act, tell, remember; once per reconcile, for all autoscalers."""
