"""Time as people tell it, by a calendar and a clock on the wall."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from wattgate.enums import Period, Weekday


def label(instant: datetime, period: Period, zone: ZoneInfo, week_start: Weekday = Weekday.MONDAY) -> object:
    """What tells two buckets apart for a person with a calendar and a wall clock of the zone."""
    local = instant.astimezone(zone)
    day: date = local.date()
    match period:
        case Period.P1Y:
            return local.year
        case Period.P1M:
            return local.year, local.month
        case Period.P1W:
            while day.weekday() != week_start.value:
                day -= timedelta(days=1)
            return day
        case Period.P1D:
            return day
        case Period.PT1H:
            return day, local.hour, local.utcoffset()
        case Period.PT30M:
            return day, local.hour, local.minute // 30, local.utcoffset()
        case Period.PT1M:
            return day, local.hour, local.minute, local.utcoffset()
