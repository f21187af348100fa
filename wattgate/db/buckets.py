"""Where the buckets of a series begin and end, in any time zone, through every clock change. Pure."""

from datetime import UTC, date, datetime, timedelta, tzinfo

from wattgate.names import Period

_FIXED = {
    Period.PT1M: timedelta(minutes=1),
    Period.PT30M: timedelta(minutes=30),
    Period.PT1H: timedelta(hours=1),
}
_SHORTEST = _FIXED | {
    Period.P1D: timedelta(hours=23),
    Period.P1W: timedelta(days=6, hours=23),
    Period.P1M: timedelta(days=27, hours=23),
    Period.P1Y: timedelta(days=364),
}


def at_most(start: datetime, stop: datetime, period: Period) -> int:
    """An upper bound for the count of buckets from start to stop, without making them."""
    return (stop - start) // _SHORTEST[period] + 2


def edges(start: datetime, stop: datetime, period: Period, zone: tzinfo) -> list[datetime]:
    """The edges, in UTC and ascending, of all buckets that share time with [start, stop).

    n buckets have n + 1 edges. Days, weeks, months and years begin at midnight of the zone's wall clock, so days
    last 23 to 25 hours where clocks change; shorter buckets begin on the zone's full minute, half hour or hour.
    """
    step = _fixed_step if period in _FIXED else _calendar_step
    found = [_first_edge(start, period, zone)]
    while found[-1] < stop:
        found.append(step(found[-1], period, zone))
    return found


def _first_edge(start: datetime, period: Period, zone: tzinfo) -> datetime:
    """The latest edge that is not after the instant."""
    if period not in _FIXED:
        return _midnight(_first_day(start.astimezone(zone).date(), period), zone)
    # one bucket back and forward again, because a clock change off the grid is an edge that no grid shows
    edge = _on_grid(start - _FIXED[period], period, zone)
    while (following := _fixed_step(edge, period, zone)) <= start:
        edge = following
    return edge


def _on_grid(instant: datetime, period: Period, zone: tzinfo) -> datetime:
    local = instant.astimezone(zone).replace(tzinfo=None)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    return instant.astimezone(UTC) - (local - midnight) % _FIXED[period]


def _fixed_step(edge: datetime, period: Period, zone: tzinfo) -> datetime:
    """The next edge of a fixed period; a clock change off the grid makes one bucket shorter."""
    return _on_grid(edge, period, zone) + _FIXED[period]


def _calendar_step(edge: datetime, period: Period, zone: tzinfo) -> datetime:
    # 12 hours over the shortest length lands inside the next bucket whatever the clocks do in between
    inside = edge.astimezone(zone).replace(tzinfo=None) + timedelta(hours=12)
    day = _first_day(inside.date(), period)
    return _midnight(_next_first_day(day, period), zone)


def _first_day(day: date, period: Period) -> date:
    match period:
        case Period.P1W:
            return day - timedelta(days=day.weekday())
        case Period.P1M:
            return day.replace(day=1)
        case Period.P1Y:
            return day.replace(month=1, day=1)
        case _:
            return day


def _next_first_day(day: date, period: Period) -> date:
    match period:
        case Period.P1D:
            return day + timedelta(days=1)
        case Period.P1W:
            return day + timedelta(days=7)
        case Period.P1M:
            return (day + timedelta(days=31)).replace(day=1)
        case _:
            return day.replace(year=day.year + 1)


def _midnight(day: date, zone: tzinfo) -> datetime:
    """The instant at which a day begins: the first of two midnights; the change itself where there is none."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
