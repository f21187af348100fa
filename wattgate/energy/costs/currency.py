"""The currency of tariffs and costs."""

CURRENCY = "GBP"
"""The only currency of tariffs and costs."""
