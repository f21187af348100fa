"""The set-wise executor: a validated document becomes a Python function that calls each operation and edge once."""
