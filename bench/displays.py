"""Homes with displays: their tariffs and stored readings, as a user's home has them.

A frame is built from the home's state, which live readings change. A home without a stored reading of power has no such
state: each reading would load the home from the database again.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from strawberry import ID

from bench.gateway import SeededGateway
from tests.support.house import operation
from wattgate.clock import utc_now
from wattgate.enums import TariffKind
from wattgate.operations.types.meters import readings as reading_types
from wattgate.operations.types.meters import tariffs as tariff_types
from wattgate.operations.vocabulary.scalars import Currency

DISPLAY = """subscription ($id: ID!) { display(homeId: $id) {
    at power { net { value unit } at }
    today { electricity { energy { value unit } } cost { total { amount currency } } }
    freshness { state ageSeconds } } }"""

STORED_DAYS = 2
POWER_SAMPLES = 60
POWER_INTERVAL = timedelta(minutes=1)
HALF_HOUR = timedelta(minutes=30)

HOMES_IN_A_CALL = 50
"""The number of homes in one call: a call records at most 10,000 readings."""


async def add_homes_with_readings(seeded: SeededGateway, resource_ids: Sequence[str]) -> list[str]:
    """Add a home for each resource, with a tariff, days of half hours and recent power. Return the ids of the homes."""
    now = utc_now()
    for resource_id in resource_ids:
        await _set_tariff(seeded, resource_id, now - timedelta(days=STORED_DAYS))
    for first in range(0, len(resource_ids), HOMES_IN_A_CALL):
        await _record(seeded, resource_ids[first : first + HOMES_IN_A_CALL], now)
    return await seeded.add_homes(list(resource_ids))


async def _set_tariff(seeded: SeededGateway, resource_id: str, valid_from: datetime) -> None:
    tariff = tariff_types.NewTariff(
        resource_id=ID(resource_id),
        name="Flat",
        kind=TariffKind.FLAT,
        valid_from=valid_from,
        currency=Currency("GBP"),
        time_zone="Europe/London",
        rate=Decimal("0.245"),
    )
    await seeded.gateway.runner.run(operation("set_tariff"), seeded.system, {"input": tariff})


async def _record(seeded: SeededGateway, resource_ids: Sequence[str], now: datetime) -> None:
    half_hour = now.replace(minute=now.minute // 30 * 30, second=0, microsecond=0)
    half_hours = [half_hour - (number + 1) * HALF_HOUR for number in range(STORED_DAYS * 48)]
    instants = [now - number * POWER_INTERVAL for number in range(POWER_SAMPLES)]
    series = [
        reading_types.NewReadingColumns(resource_id=ID(resource_id), field=field, at=at, value=[value] * len(at))
        for resource_id in resource_ids
        for field, at, value in (("ENERGY", half_hours, Decimal("0.25")), ("POWER", instants, Decimal(500)))
    ]
    result = await seeded.gateway.runner.run(operation("record_reading_columns"), seeded.system, {"series": series})
    if result.refused:
        raise RuntimeError(result.refused[0].reason)
