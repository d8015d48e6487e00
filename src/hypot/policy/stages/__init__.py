"""The stages that all kinds share: resolve, restrain and report."""
