"""Benchmarks: generated instances, measurements of speed, memory and accuracy."""
