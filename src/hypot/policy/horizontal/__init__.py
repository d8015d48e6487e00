"""How many replicas: HorizontalPodAutoscalers and WatermarkPodAutoscalers."""
