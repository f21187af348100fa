"""Spans of time that are asked for, and the periods and days by which they are divided."""

from wattgate.clock import TimeRange
from wattgate.enums import Period, Weekday

__all__ = ["Period", "TimeRange", "Weekday"]
