"""What survives a restart: state in ConfigMaps, usage in checkpoints."""
