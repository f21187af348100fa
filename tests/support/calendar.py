"""Calendar labels of instants, as an independent model for bucket tests."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from wattgate.enums import Period, Weekday


def label(instant: datetime, period: Period, zone: ZoneInfo, week_start: Weekday = Weekday.MONDAY) -> object:
    """Return a label of the bucket of an instant, from the calendar and wall-clock time of the zone.

    Two instants have the same label if and only if they are in the same bucket.
    """
    local = instant.astimezone(zone)
    day: date = local.date()
    match period:
        case Period.P1Y:
            return local.year
        case Period.P3M:
            return local.year, (local.month - 1) // 3
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
        case Period.PT15M:
            return day, local.hour, local.minute // 15, local.utcoffset()
        case Period.PT5M:
            return day, local.hour, local.minute // 5, local.utcoffset()
        case Period.PT1M:
            return day, local.hour, local.minute, local.utcoffset()
