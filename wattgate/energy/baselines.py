"""Baselines of comparisons: the earlier span that a span is compared with, in wall-clock time. No I/O."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from wattgate.clock import to_ms
from wattgate.energy.buckets import day_start
from wattgate.enums import Baseline

_MONTHS_PER_YEAR = 12
_COMPARISON_YEAR = timedelta(weeks=52)


@dataclass(frozen=True, slots=True)
class ComparisonRange:
    """Two spans with the same elapsed wall-clock time: [start, until) and its baseline [base_start, base_until).

    `base_end` is the end of the whole baseline. Only the part before `base_until` is compared. The baseline
    `is_shorter` if it ends before the same elapsed time: 29 March at 10:00 has no counterpart in February.
    """

    start: datetime
    until: datetime
    base_start: datetime
    base_until: datetime
    base_end: datetime
    is_shorter: bool


def comparison_range(
    start: datetime, end: datetime, until: datetime, baseline: Baseline, zone: tzinfo
) -> ComparisonRange:
    """Return the comparison of the range [start, end), of which only the part before `until` is known yet.

    The previous period of whole calendar months is as many months earlier. For any other range, it is the range's
    wall-clock length earlier. The same period of last year is twelve months earlier. For whole weeks it is 52 weeks
    earlier, so that weekdays match.
    """
    first, last, reached = (_to_wall_clock(instant, zone) for instant in (start, end, until))
    base_first, base_last = _baseline_bounds(first, last, baseline)
    base_reached = base_last if until >= end else min(base_first + (reached - first), base_last)
    is_shorter = base_reached - base_first < min(reached, last) - first
    base_start, base_until, base_end = (_to_instant(wall, zone) for wall in (base_first, base_reached, base_last))
    return ComparisonRange(start, min(until, end), base_start, base_until, base_end, is_shorter)


def open_range_end(start: datetime, now: datetime, zone: tzinfo) -> datetime:
    """Return the end of a range without an end.

    It is the end of the current month if the range starts at the start of a month, the end of the current day if it
    starts at midnight, and `now` otherwise.
    """
    first, last = _to_wall_clock(start, zone), _to_wall_clock(now, zone)
    if first.time() != datetime.min.time():
        return now
    if first.day == 1:
        return _to_instant(_subtract_months(last.replace(day=1, hour=0, minute=0, second=0, microsecond=0), -1), zone)
    return _to_instant(last.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1), zone)


def _baseline_bounds(first: datetime, last: datetime, baseline: Baseline) -> tuple[datetime, datetime]:
    months, days = _whole_months(first, last), (last - first).days
    midnights = first.time() == last.time() == datetime.min.time()
    if baseline is Baseline.PREVIOUS_PERIOD:
        if months:
            return _subtract_months(first, months), first
        return first - (last - first), first
    if midnights and days % 7 == 0 and not months:
        return first - _COMPARISON_YEAR, last - _COMPARISON_YEAR
    return _subtract_months(first, _MONTHS_PER_YEAR), _subtract_months(last, _MONTHS_PER_YEAR)


def _whole_months(first: datetime, last: datetime) -> int:
    """Return the number of calendar months between two wall-clock times; 0 unless both are the start of a month."""
    if any(wall != wall.replace(day=1, hour=0, minute=0, second=0, microsecond=0) for wall in (first, last)):
        return 0
    return (last.year - first.year) * _MONTHS_PER_YEAR + last.month - first.month


def _subtract_months(wall: datetime, months: int) -> datetime:
    """Return the same day and time `months` earlier, or the last day of the month if it is shorter."""
    count = wall.year * _MONTHS_PER_YEAR + wall.month - 1 - months
    year, month = count // _MONTHS_PER_YEAR, count % _MONTHS_PER_YEAR + 1
    following = datetime(year + month // _MONTHS_PER_YEAR, month % _MONTHS_PER_YEAR + 1, 1)
    return wall.replace(year=year, month=month, day=min(wall.day, (following - timedelta(days=1)).day))


def _to_wall_clock(instant: datetime, zone: tzinfo) -> datetime:
    """Return the wall-clock time of an instant. The start of a day is its midnight, also where clocks skip that."""
    wall = instant.astimezone(zone).replace(tzinfo=None)
    return datetime(wall.year, wall.month, wall.day) if to_ms(instant) == day_start(wall.date(), zone) else wall


def _to_instant(wall: datetime, zone: tzinfo) -> datetime:
    return wall.replace(tzinfo=zone).astimezone(UTC)
