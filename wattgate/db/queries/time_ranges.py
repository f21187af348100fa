"""The ranges of time that series are asked for, checked."""

from datetime import datetime

from wattgate.clock import TimeRange
from wattgate.energy import buckets
from wattgate.enums import Period
from wattgate.errors import BadInput, Problem

MAX_BUCKETS = 20_000
"""How many buckets one series has at most."""


def closed(range: TimeRange, now: datetime) -> tuple[datetime, datetime]:
    """The start and end of a range, which is now where it is open. BadInput where it is empty."""
    start, end = range.start, range.end or now
    if end <= start:
        problem = Problem(("range", "end"), "is not after the start")
        raise BadInput("the range is empty: its end is not after its start", problems=[problem])
    return start, end


def check_buckets(start: datetime, end: datetime, period: Period) -> None:
    """BadInput where a range may have more buckets of a period than a series holds."""
    if (count := buckets.at_most(start, end, period)) > MAX_BUCKETS:
        raise BadInput(
            f"a series has at most {MAX_BUCKETS:,} buckets, and this range has about {count:,} of {period.value}: "
            f"{buckets.instead(start, end, period, MAX_BUCKETS)}",
            problems=[Problem(("period",), f"gives more than {MAX_BUCKETS:,} buckets")],
        )
