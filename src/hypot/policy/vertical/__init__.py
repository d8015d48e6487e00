"""The size of containers: VerticalPodAutoscalers."""
