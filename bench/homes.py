"""Homes of one user in a database: each with resources, their tariffs, and a month of readings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sqlalchemy import text
from strawberry import ID

from bench.gateway import PASSWORD, USERNAME, Owner, owner
from tests.support.house import operation
from wattgate.app.settings import Settings
from wattgate.enums import TariffKind
from wattgate.graphql.resolvers import tokens as identity
from wattgate.graphql.types import readings as reading_types
from wattgate.graphql.types import tariffs as tariff_types
from wattgate.graphql.types import virtual_entities as home_types
from wattgate.principal import Principal, Role

START = datetime(2025, 1, 1, tzinfo=UTC)
MONTH = 31 * 48
"""Half hours."""

RESOURCES = 4
"""Resources of a home."""


@dataclass(frozen=True)
class Homes:
    """What was made: the owner, and the identifiers of the homes; their resources are the owner's, in order. The
    owner has logged in as often as there are homes."""

    owner: Owner
    ids: list[str]
    tokens: list[str]


@asynccontextmanager
async def homes(settings: Settings, *, count: int, samples: int = MONTH) -> AsyncIterator[Homes]:
    """So many homes on an empty database, whose resources have so many half hours of readings each."""
    async with owner(settings, count=count * RESOURCES) as made:
        for number, resource_id in enumerate(made.resource_ids):
            await _set_tariff(made, resource_id)
            await _record(made, resource_id, number, samples)
        ids = await _add_homes(made, count)
        async with made.gateway.database.engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await connection.execute(text("ANALYZE"))
        yield Homes(made, ids, [await _token(made) for _ in range(count)])


async def _token(made: Owner) -> str:
    given = {"application_id": made.application_id, "username": USERNAME, "password": PASSWORD}
    token: str = (await made.gateway.runner.run(identity.authenticate, Principal(Role.ANONYMOUS), given)).token
    return token


async def _add_homes(made: Owner, count: int) -> list[str]:
    run, system = made.gateway.runner.run, made.system
    kind = home_types.NewVirtualEntityType(name="Home")
    type_id = ID((await run(operation("add_virtual_entity_type"), system, {"input": kind})).ve_type_id)
    ids = []
    for number in range(count):
        own = made.resource_ids[number * RESOURCES : (number + 1) * RESOURCES]
        given = home_types.NewVirtualEntity(
            ve_type_id=type_id,
            name=f"Home {number}",
            city="Bristol",
            time_zone="Europe/London",
            resources=[home_types.OwnedResource(resource_id=ID(one)) for one in own],
        )
        ids.append((await run(operation("add_virtual_entity"), system, {"input": given})).ve_id)
    return ids


async def _set_tariff(made: Owner, resource_id: str) -> None:
    given = tariff_types.NewTariff(
        resource_id=ID(resource_id), name="Flat", kind=TariffKind.FLAT, valid_from=START, rate=Decimal("24.5")
    )
    await made.gateway.runner.run(operation("set_tariff"), made.system, {"input": given})


async def _record(made: Owner, resource_id: str, number: int, samples: int) -> None:
    given = reading_types.NewReadingColumns(
        resource_id=ID(resource_id),
        at=[START + n * timedelta(minutes=30) for n in range(samples)],
        value=[Decimal((n * 7919 + number) % 2500).scaleb(-3) for n in range(samples)],
    )
    done = await made.gateway.runner.run(operation("record_reading_columns"), made.system, {"series": [given]})
    assert done.recorded == samples
