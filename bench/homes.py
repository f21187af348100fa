"""Homes of one user in a database, each with resources, their tariffs and a month of readings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sqlalchemy import text
from strawberry import ID

from bench.gateway import PASSWORD, USERNAME, SeededGateway, seeded_gateway
from tests.support.house import operation
from wattgate.app.settings import Settings
from wattgate.enums import TariffKind
from wattgate.operations.credentials import tokens
from wattgate.operations.types.homes import virtual_entities as home_types
from wattgate.operations.types.meters import readings as reading_types
from wattgate.operations.types.meters import tariffs as tariff_types
from wattgate.operations.vocabulary.scalars import Currency
from wattgate.principal import Principal, Role

START = datetime(2025, 1, 1, tzinfo=UTC)
MONTH_SAMPLES = 31 * 48
"""The number of half hours in a month of 31 days."""

RESOURCES_PER_HOME = 4


@dataclass(frozen=True)
class SeededHomes:
    """Homes in a database: their owner, their ids, and one token of the owner for each home.

    The homes have the owner's resources in order, RESOURCES_PER_HOME for each home.
    """

    owner: SeededGateway
    ids: list[str]
    tokens: list[str]


@asynccontextmanager
async def seeded_homes(settings: Settings, *, count: int, samples: int = MONTH_SAMPLES) -> AsyncIterator[SeededHomes]:
    """Add `count` homes to an empty database. Each of their resources has `samples` half hours of readings."""
    async with seeded_gateway(settings, count=count * RESOURCES_PER_HOME) as seeded:
        for number, resource_id in enumerate(seeded.resource_ids):
            await _set_tariff(seeded, resource_id)
            await _record(seeded, resource_id, number, samples)
        ids = await _add_homes(seeded, count)
        async with seeded.gateway.database.engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(text("ANALYZE"))
        yield SeededHomes(seeded, ids, [await _log_in(seeded) for _ in range(count)])


async def _log_in(seeded: SeededGateway) -> str:
    credentials = {"application_id": seeded.application_id, "username": USERNAME, "password": PASSWORD}
    token: str = (await seeded.gateway.runner.run(tokens.authenticate, Principal(Role.ANONYMOUS), credentials)).token
    return token


async def _add_homes(seeded: SeededGateway, count: int) -> list[str]:
    run, system = seeded.gateway.runner.run, seeded.system
    home_type = home_types.NewVirtualEntityType(name="Home")
    type_id = ID((await run(operation("add_virtual_entity_type"), system, {"input": home_type})).ve_type_id)
    ids = []
    for number in range(count):
        resource_ids = seeded.resource_ids[number * RESOURCES_PER_HOME : (number + 1) * RESOURCES_PER_HOME]
        home = home_types.NewVirtualEntity(
            ve_type_id=type_id,
            name=f"Home {number}",
            city="Bristol",
            time_zone="Europe/London",
            resources=[home_types.OwnedResource(resource_id=ID(resource_id)) for resource_id in resource_ids],
        )
        ids.append((await run(operation("add_virtual_entity"), system, {"input": home})).ve_id)
    return ids


async def _set_tariff(seeded: SeededGateway, resource_id: str) -> None:
    tariff = tariff_types.NewTariff(
        resource_id=ID(resource_id),
        name="Flat",
        kind=TariffKind.FLAT,
        valid_from=START,
        currency=Currency("GBP"),
        time_zone="Europe/London",
        rate=Decimal("0.245"),
    )
    await seeded.gateway.runner.run(operation("set_tariff"), seeded.system, {"input": tariff})


async def _record(seeded: SeededGateway, resource_id: str, number: int, samples: int) -> None:
    columns = reading_types.NewReadingColumns(
        resource_id=ID(resource_id),
        at=[START + n * timedelta(minutes=30) for n in range(samples)],
        value=[Decimal((n * 7919 + number) % 2500).scaleb(-3) for n in range(samples)],
    )
    result = await seeded.gateway.runner.run(operation("record_reading_columns"), seeded.system, {"series": [columns]})
    assert result.recorded == samples
