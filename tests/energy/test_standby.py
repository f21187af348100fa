"""The standby power of a home, from hours of energy."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from wattgate.clock import to_ms
from wattgate.energy.buckets import build_grid
from wattgate.energy.display.standby import MIN_DAYS, HourOfEnergy, StandbyPower, find_standby_power, mean_price
from wattgate.enums import NoStandbyReason, Period

LONDON = ZoneInfo("Europe/London")


def hours(first: datetime, days: int, *, night: float = 0.1, zone: ZoneInfo = LONDON) -> Iterator[HourOfEnergy]:
    """Yield the hours of whole days, with more energy by day, and none at noon, where panels supply the home."""
    grid = build_grid(first, first + timedelta(days=days), Period.PT1H, zone)
    for start, stop in zip(grid.edges, grid.edges[1:], strict=False):
        local = datetime.fromtimestamp(start / 1000, zone)
        share = (stop - start) / 3_600_000
        energy = 0.0 if local.hour in (12, 13) else night if local.hour < 6 else 0.5
        yield HourOfEnergy(start, stop, energy * share, True)


@pytest.mark.parametrize("zone", ["Europe/London", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Santiago"])
@pytest.mark.parametrize("first", [datetime(2026, 3, 20), datetime(2026, 10, 20), datetime(2026, 9, 1)])
def test_standby_is_the_median_of_the_lowest_night_hours(zone: str, first: datetime) -> None:
    """Also over clock changes, where a bucket may be a part of an hour."""
    of_zone = ZoneInfo(zone)
    found = find_standby_power(hours(first.replace(tzinfo=of_zone), 28, zone=of_zone), of_zone)
    assert found == StandbyPower(100, 28)
    assert found.yearly_energy == 877


def test_nights_that_are_unlike_the_others_do_not_count() -> None:
    """A guest stays for some nights, and the power is off in one."""
    start = datetime(2026, 11, 1, tzinfo=LONDON)
    parts = [(start, 20, 0.08), (start + timedelta(days=20), 7, 0.6), (start + timedelta(days=27), 1, 0.0)]
    found = find_standby_power([hour for at, days, night in parts for hour in hours(at, days, night=night)], LONDON)
    assert found == StandbyPower(80, 28)


def test_standby_is_unknown_of_few_days_and_without_use_at_night() -> None:
    start = datetime(2026, 11, 1, tzinfo=LONDON)
    few = find_standby_power(hours(start, MIN_DAYS - 1), LONDON)
    assert few == StandbyPower(None, MIN_DAYS - 1, NoStandbyReason.TOO_FEW_DAYS)
    assert few.yearly_energy is None
    battery = find_standby_power(hours(start, 28, night=0.0), LONDON)
    assert battery == StandbyPower(None, 28, NoStandbyReason.NO_NIGHT_USE)
    gaps = [hour._replace(is_complete=number % 24 != 15) for number, hour in enumerate(hours(start, 28))]
    assert find_standby_power(gaps, LONDON) == StandbyPower(None, 0, NoStandbyReason.TOO_FEW_DAYS)


def test_the_mean_price_weighs_each_hour_alike() -> None:
    """Seven hours at 10 pence and 17 at 30: standby draws in each hour."""
    day = to_ms(datetime(2026, 11, 1, tzinfo=UTC))
    spans = [(day, Decimal(10)), (day + 7 * 3_600_000, Decimal(30)), (day + 7 * 3_600_000, Decimal(30))]
    assert mean_price(spans, day + 24 * 3_600_000) == Decimal(580) / 24
    assert mean_price([*spans, (day + 20 * 3_600_000, None)], day + 24 * 3_600_000) is None
    assert mean_price([(day, None)], day) is None
