"""The compiled engine, for many workloads. Only `compiling` imports numba."""
