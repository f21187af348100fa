"""Which span of time another one is compared with, by the wall clock of a zone. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from wattgate.enums import Baseline

_MONTHS_PER_YEAR = 12
_COMPARISON_YEAR = timedelta(weeks=52)


@dataclass(frozen=True, slots=True)
class ComparisonRange:
    """Two spans of the same elapsed wall-clock time: [start, until) of a range and [base_start, base_until).

    `base_end` is where the whole baseline ends, of which only the part until `base_until` is compared.
    """

    start: datetime
    until: datetime
    base_start: datetime
    base_until: datetime
    base_end: datetime


def comparison_range(
    start: datetime, end: datetime, until: datetime, baseline: Baseline, zone: tzinfo
) -> ComparisonRange:
    """What a range is compared with of which only the part until an instant is known yet.

    Whole calendar months go back by months, whole days by days, all else by its length. A year back is twelve
    months, and 52 weeks for whole weeks, so that weekdays match weekdays.
    """
    first, last, reached = (_to_wall_clock(instant, zone) for instant in (start, end, until))
    base_first, base_last = _baseline_bounds(first, last, baseline)
    base_reached = base_last if until >= end else min(base_first + (reached - first), base_last)
    base = (_to_instant(wall, zone) for wall in (base_first, base_reached, base_last))
    return ComparisonRange(start, min(until, end), *base)


def open_range_end(start: datetime, now: datetime, zone: tzinfo) -> datetime:
    """Where a range ends that is open at present: the month, or the day, with whose kind it begins, or now."""
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
    """How many calendar months lie exactly between two wall-clock times; 0 where they do not begin and end so."""
    if any(one != one.replace(day=1, hour=0, minute=0, second=0, microsecond=0) for one in (first, last)):
        return 0
    return (last.year - first.year) * _MONTHS_PER_YEAR + last.month - first.month


def _subtract_months(wall: datetime, months: int) -> datetime:
    """The same day and time so many months before; the last day of a month that is too short for it."""
    count = wall.year * _MONTHS_PER_YEAR + wall.month - 1 - months
    year, month = count // _MONTHS_PER_YEAR, count % _MONTHS_PER_YEAR + 1
    following = datetime(year + month // _MONTHS_PER_YEAR, month % _MONTHS_PER_YEAR + 1, 1)
    return wall.replace(year=year, month=month, day=min(wall.day, (following - timedelta(days=1)).day))


def _to_wall_clock(instant: datetime, zone: tzinfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None)


def _to_instant(wall: datetime, zone: tzinfo) -> datetime:
    return wall.replace(tzinfo=zone).astimezone(UTC)
