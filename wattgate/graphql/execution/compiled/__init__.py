"""The set-wise executor: compile a validated document into Python functions that call each operation and edge once."""
