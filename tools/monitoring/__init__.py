"""The documentation, alert rules and dashboard of the metrics, generated from one table."""
