"""What the demonstration's homes pay: one by the time of day, one the same at all times, one by the half hour."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice
from math import cos, pi
from typing import Any
from zoneinfo import ZoneInfo

from strawberry import ID

from wattgate.app.demo.simulation import HALF_HOUR
from wattgate.clock import EPOCH
from wattgate.enums import TariffKind, Weekday
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.resolvers import tariffs
from wattgate.graphql.types import tariffs as types
from wattgate.principal import Principal

LONDON = ZoneInfo("Europe/London")
SINCE = datetime(2024, 4, 1, tzinfo=LONDON).astimezone(UTC)
CHANGED = datetime(2026, 4, 1, tzinfo=LONDON).astimezone(UTC)
VAT = Decimal(5)
PRICES_AHEAD = timedelta(days=31)
"""The demonstration knows the prices of a month to come, so that it may run for as long."""

_NIGHT, _PEAK = ("night", "23:30", "05:30", list(Weekday)), ("peak", "16:00", "19:00", list(Weekday)[:5])


def night_saver(resource_id: str) -> list[types.NewTariff]:
    """Cheap at night and dear in the early evening of working days; the rates changed once."""
    return [
        _tariff(resource_id, "Demo Night Saver", SINCE, "47.85", rate="26.19", bands=("7.62", "33.33")),
        _tariff(resource_id, "Demo Night Saver", CHANGED, "51.24", rate="27.04", bands=("8.09", "35.71")),
    ]


def standard(resource_id: str) -> list[types.NewTariff]:
    """The same at all times; the rate changed once."""
    return [
        _tariff(resource_id, "Demo Standard Variable", SINCE, "51.24", rate="25.06"),
        _tariff(resource_id, "Demo Standard Variable", CHANGED, "54.75", rate="23.50"),
    ]


def half_hourly(resource_id: str) -> list[types.NewTariff]:
    """A price for each half hour."""
    return [_tariff(resource_id, "Demo Half-Hourly", SINCE, "46.36", kind=TariffKind.DYNAMIC)]


def gas(resource_id: str) -> list[types.NewTariff]:
    """The tariffs of a home's gas."""
    return [_tariff(resource_id, "Demo Standard Variable", SINCE, "30.15", rate="5.94")]


def exported(resource_id: str) -> list[types.NewTariff]:
    """What a home is paid for what it exports; no VAT is due on that."""
    return [_tariff(resource_id, "Demo Export", SINCE, "0", rate="15", vat="0")]


async def fill_prices(runner: Runner, principal: Principal, tariff_id: str, start: datetime, stop: datetime) -> None:
    """Set the prices of a dynamic tariff for every half hour of a range."""
    prices = _prices(start, stop)
    while batch := list(islice(prices, tariffs.MAX_PRICES)):
        await runner.run(tariffs.set_tariff_prices, principal, {"tariff_id": tariff_id, "prices": batch})


def price(at: datetime) -> Decimal:
    """The price of a half hour: dear in the evening, cheap at night, below zero in some windy ones."""
    local = at.astimezone(LONDON)
    hour, day = local.hour + local.minute / 60, (at - EPOCH).days
    wind = cos(2 * pi * day / 9) * cos(2 * pi * day / 31)
    evening = 16 if 16 <= hour < 19 else 0
    return round(Decimal(17 - 6 * cos(2 * pi * (hour - 2) / 24) - 14 * wind + evening), 2)


def _prices(start: datetime, stop: datetime) -> Iterator[types.NewTariffPrice]:
    at = start - (start - EPOCH) % HALF_HOUR
    while at < stop:
        yield types.NewTariffPrice(at=at, rate=price(at))
        at += HALF_HOUR


def _tariff(
    resource_id: str,
    name: str,
    valid_from: datetime,
    standing: str,
    *,
    rate: str | None = None,
    bands: tuple[str, ...] = (),
    kind: TariffKind | None = None,
    vat: str = str(VAT),
) -> types.NewTariff:
    terms: dict[str, Any] = {
        "bands": [
            types.NewTariffBand(name=band, rate=Decimal(its), weekdays=days, start=start, end=end)
            for (band, start, end, days), its in zip((_NIGHT, _PEAK), bands, strict=False)
        ],
        "rate": None if rate is None else Decimal(rate),
        "kind": kind or (TariffKind.TIME_OF_USE if bands else TariffKind.FLAT),
    }
    return types.NewTariff(
        resource_id=ID(resource_id),
        name=name,
        valid_from=valid_from,
        standing_charge=Decimal(standing),
        vat_rate=Decimal(vat),
        source="supplier",
        **terms,
    )
