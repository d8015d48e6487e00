"""What every server of hypot needs: listening within limits, TLS, probes and logs."""
