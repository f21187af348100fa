"""The size of the transactions that encrypt secrets again."""

BATCH_ROWS = 500
"""Default number of rows that one transaction encrypts again."""
