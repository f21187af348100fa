"""The currency of homes."""

CURRENCY = "GBP"
"""The only currency of costs."""
