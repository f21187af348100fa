"""Benchmarks: `make bench` runs all of them and prints ratios, side by side, never a verdict."""
