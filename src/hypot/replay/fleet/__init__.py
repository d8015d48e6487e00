"""The compiled engine, for many workloads. Only `fleet` imports numba."""
