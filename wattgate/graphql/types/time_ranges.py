"""Spans of time that are asked for, and the periods and days by which they are divided."""

import strawberry

from wattgate.clock import TimeRange
from wattgate.enums import Period, Weekday

strawberry.enum(Period, description="The length of a bucket, as an ISO 8601 duration.")
strawberry.enum(Weekday, description="A day of the week.")
strawberry.input(TimeRange, description="A span of time: from start to before end, or to now.")

__all__ = ["Period", "TimeRange", "Weekday"]
