"""Which span of time another one is compared with, by the wall clock of a zone. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from wattgate.enums import Baseline

_MONTHS_A_YEAR = 12
_WEEKS_A_YEAR = timedelta(weeks=52)


@dataclass(frozen=True, slots=True)
class Compared:
    """Two spans of the same elapsed wall-clock time: [start, until) of a range and [base_start, base_until).

    `base_end` is where the whole baseline ends, of which only the part until `base_until` is compared.
    """

    start: datetime
    until: datetime
    base_start: datetime
    base_until: datetime
    base_end: datetime


def compared(start: datetime, end: datetime, until: datetime, baseline: Baseline, zone: tzinfo) -> Compared:
    """What a range is compared with of which only the part until an instant is known yet.

    Whole calendar months go back by months, whole days by days, all else by its length. A year back is twelve
    months, and 52 weeks for whole weeks, so that weekdays match weekdays.
    """
    first, last, reached = (_wall(instant, zone) for instant in (start, end, until))
    base_first, base_last = _back(first, last, baseline)
    base_reached = base_last if until >= end else min(base_first + (reached - first), base_last)
    base = (_instant(wall, zone) for wall in (base_first, base_reached, base_last))
    return Compared(start, min(until, end), *base)


def closes(start: datetime, now: datetime, zone: tzinfo) -> datetime:
    """Where a range ends that is open at present: the month, or the day, with whose kind it begins, or now."""
    first, last = _wall(start, zone), _wall(now, zone)
    if first.time() != datetime.min.time():
        return now
    if first.day == 1:
        return _instant(_months_back(last.replace(day=1, hour=0, minute=0, second=0, microsecond=0), -1), zone)
    return _instant(last.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1), zone)


def _back(first: datetime, last: datetime, baseline: Baseline) -> tuple[datetime, datetime]:
    months, days = _whole_months(first, last), (last - first).days
    midnights = first.time() == last.time() == datetime.min.time()
    if baseline is Baseline.PREVIOUS_PERIOD:
        if months:
            return _months_back(first, months), first
        return first - (last - first), first
    if midnights and days % 7 == 0 and not months:
        return first - _WEEKS_A_YEAR, last - _WEEKS_A_YEAR
    return _months_back(first, _MONTHS_A_YEAR), _months_back(last, _MONTHS_A_YEAR)


def _whole_months(first: datetime, last: datetime) -> int:
    """How many calendar months lie exactly between two wall-clock times; 0 where they do not begin and end so."""
    if any(one != one.replace(day=1, hour=0, minute=0, second=0, microsecond=0) for one in (first, last)):
        return 0
    return (last.year - first.year) * _MONTHS_A_YEAR + last.month - first.month


def _months_back(wall: datetime, months: int) -> datetime:
    """The same day and time so many months before; the last day of a month that is too short for it."""
    count = wall.year * _MONTHS_A_YEAR + wall.month - 1 - months
    year, month = count // _MONTHS_A_YEAR, count % _MONTHS_A_YEAR + 1
    following = datetime(year + month // _MONTHS_A_YEAR, month % _MONTHS_A_YEAR + 1, 1)
    return wall.replace(year=year, month=month, day=min(wall.day, (following - timedelta(days=1)).day))


def _wall(instant: datetime, zone: tzinfo) -> datetime:
    return instant.astimezone(zone).replace(tzinfo=None)


def _instant(wall: datetime, zone: tzinfo) -> datetime:
    return wall.replace(tzinfo=zone).astimezone(UTC)
