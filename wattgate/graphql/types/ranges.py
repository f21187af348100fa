"""Spans of time that are asked for, and the periods and days by which they are divided."""

from datetime import datetime

import strawberry

from wattgate.names import Period, Weekday

strawberry.enum(Period, description="The length of a bucket, as an ISO 8601 duration.")
strawberry.enum(Weekday, description="A day of the week.")


@strawberry.input(description="A span of time: from start to before end.")
class TimeRange:
    start: datetime
    end: datetime | None = strawberry.field(default=None, description="The present instant where it is left out.")

    def __hash__(self) -> int:  # the arguments of edges are keys of their loaders
        return hash((self.start, self.end))
