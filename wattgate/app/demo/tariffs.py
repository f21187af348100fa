"""Tariffs of the demonstration's homes: time of use, flat and dynamic, and those for gas and export."""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from math import cos, pi
from typing import Any
from zoneinfo import ZoneInfo

from wattgate.app.demo.simulation import HALF_HOUR
from wattgate.clock import EPOCH
from wattgate.energy.quantities import to_major
from wattgate.enums import TariffKind, Weekday
from wattgate.operations import tariffs
from wattgate.operations.core.runner import Runner
from wattgate.operations.types.meters import tariffs as types
from wattgate.operations.vocabulary.arguments import Id
from wattgate.operations.vocabulary.scalars import Currency
from wattgate.principal import Principal

LONDON = ZoneInfo("Europe/London")
FIRST_VALID_FROM = datetime(2024, 4, 1, tzinfo=LONDON).astimezone(UTC)
CHANGED_FROM = datetime(2026, 4, 1, tzinfo=LONDON).astimezone(UTC)
VAT_PERCENT = Decimal(5)
PUBLICATION_HOUR = 16
"""The hour of local time at which the prices of the next day are set."""

_NIGHT_BAND, _PEAK_BAND = ("night", "23:30", "05:30", list(Weekday)), ("peak", "16:00", "19:00", list(Weekday)[:5])


def night_saver_tariffs(resource_id: str) -> list[types.NewTariff]:
    """Return a time-of-use tariff: cheap at night, expensive in the early evening of weekdays, with one rate change."""
    return [
        _build_tariff(
            resource_id, "Demo Night Saver", FIRST_VALID_FROM, "0.4785", rate="0.2619", bands=("0.0762", "0.3333")
        ),
        _build_tariff(
            resource_id, "Demo Night Saver", CHANGED_FROM, "0.5124", rate="0.2704", bands=("0.0809", "0.3571")
        ),
    ]


def standard_tariffs(resource_id: str) -> list[types.NewTariff]:
    """Return a flat tariff with one rate change."""
    return [
        _build_tariff(resource_id, "Demo Standard Variable", FIRST_VALID_FROM, "0.5124", rate="0.2506"),
        _build_tariff(resource_id, "Demo Standard Variable", CHANGED_FROM, "0.5475", rate="0.2350"),
    ]


def half_hourly_tariffs(resource_id: str) -> list[types.NewTariff]:
    """Return a dynamic tariff, which has a price for each half hour."""
    return [_build_tariff(resource_id, "Demo Half-Hourly", FIRST_VALID_FROM, "0.4636", kind=TariffKind.DYNAMIC)]


def no_tariffs(resource_id: str) -> list[types.NewTariff]:
    """Return no tariff, for a home whose costs are not known."""
    return []


def gas_tariffs(resource_id: str) -> list[types.NewTariff]:
    """Return the gas tariff of a home."""
    return [_build_tariff(resource_id, "Demo Standard Variable", FIRST_VALID_FROM, "0.3015", rate="0.0594")]


def export_tariffs(resource_id: str) -> list[types.NewTariff]:
    """Return the tariff that a home is paid for exported energy. It has no VAT."""
    return [_build_tariff(resource_id, "Demo Export", FIRST_VALID_FROM, "0", rate="0.15", vat="0")]


async def fill_prices(runner: Runner, principal: Principal, tariff_id: str, start: datetime, stop: datetime) -> None:
    """Set the prices of a dynamic tariff for each half hour from `start` until before `stop`."""
    prices = _simulate_prices(start, stop)
    while batch := list(islice(prices, tariffs.MAX_PRICES)):
        arguments = {"tariff_id": tariff_id, "currency": "GBP", "prices": batch}
        await runner.run(tariffs.set_tariff_prices, principal, arguments)


def priced_until(now: datetime) -> datetime:
    """Return the end of the prices that are known: the end of the day in local time, or of the next one after 16:00."""
    local = now.astimezone(LONDON)
    days = 2 if local.hour >= PUBLICATION_HOUR else 1
    return datetime.combine(local.date() + timedelta(days=days), time(), LONDON).astimezone(UTC)


def simulate_price(at: datetime) -> Decimal:
    """Return the price of a half hour in pounds: high in the evening, low at night, negative in some windy nights."""
    local = at.astimezone(LONDON)
    hour, day = local.hour + local.minute / 60, (at - EPOCH).days
    wind = cos(2 * pi * day / 9) * cos(2 * pi * day / 31)
    evening = 16 if 16 <= hour < 19 else 0
    pence = round(Decimal(17 - 6 * cos(2 * pi * (hour - 2) / 24) - 14 * wind + evening), 2)
    return to_major(pence)


def _simulate_prices(start: datetime, stop: datetime) -> Iterator[types.NewTariffPrice]:
    at = start - (start - EPOCH) % HALF_HOUR
    while at < stop:
        yield types.NewTariffPrice(at=at, rate=simulate_price(at))
        at += HALF_HOUR


def _build_tariff(
    resource_id: str,
    name: str,
    valid_from: datetime,
    standing: str,
    *,
    rate: str | None = None,
    bands: tuple[str, ...] = (),
    kind: TariffKind | None = None,
    vat: str = str(VAT_PERCENT),
) -> types.NewTariff:
    terms: dict[str, Any] = {
        "bands": [
            types.NewTariffBand(name=band, rate=Decimal(band_rate), weekdays=days, start=start, end=end)
            for (band, start, end, days), band_rate in zip((_NIGHT_BAND, _PEAK_BAND), bands, strict=False)
        ],
        "rate": None if rate is None else Decimal(rate),
        "kind": kind or (TariffKind.TIME_OF_USE if bands else TariffKind.FLAT),
    }
    return types.NewTariff(
        resource_id=Id(resource_id),
        name=name,
        valid_from=valid_from,
        standing_charge=Decimal(standing),
        vat_percent=Decimal(vat),
        currency=Currency("GBP"),
        time_zone="Europe/London",
        source="supplier",
        **terms,
    )
