"""Checks of the time ranges of series."""

from datetime import datetime

from wattgate.clock import TimeRange
from wattgate.energy import buckets
from wattgate.enums import Period
from wattgate.errors import BadInput, Problem

MAX_BUCKETS = 20_000
"""The maximum number of buckets in a series."""


def resolve_range(range: TimeRange, now: datetime) -> tuple[datetime, datetime]:
    """Return the start and end of a range; an open range ends now. Raise BadInput if it is empty."""
    start, end = range.start, range.end or now
    if end <= start:
        problem = Problem(("range", "end"), "is not after the start")
        raise BadInput("The range is empty: its end is not after its start. Use a later end.", problems=[problem])
    return start, end


def check_bucket_count(start: datetime, end: datetime, period: Period) -> None:
    """Raise BadInput if a range may have more buckets than a series can have."""
    if (count := buckets.max_bucket_count(start, end, period)) > MAX_BUCKETS:
        raise BadInput(
            f"A series has at most {MAX_BUCKETS:,} buckets, but this range has about {count:,} of {period.value}. "
            f"Request {buckets.suggest_range(start, end, period, MAX_BUCKETS)}.",
            problems=[Problem(("period",), f"gives more than {MAX_BUCKETS:,} buckets")],
        )
