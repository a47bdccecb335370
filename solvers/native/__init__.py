"""Native algorithms, compiled with numba on first use."""
