"""Time ranges of queries, and the periods and weekdays that divide them."""

from wattgate.clock import TimeRange
from wattgate.enums import Period, Weekday

__all__ = ["Period", "TimeRange", "Weekday"]
