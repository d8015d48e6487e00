"""The controller: observe, decide, act, tell, remember; once per sweep, for all autoscalers."""
