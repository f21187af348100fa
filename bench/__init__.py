"""Benchmarks. `make bench` runs all of them and prints times, rates and ratios side by side."""
