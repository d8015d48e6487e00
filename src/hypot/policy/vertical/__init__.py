"""How large the containers are: VerticalPodAutoscalers."""
