"""Two tenants with homes in a real database at a fixed time, and argument values for requests about them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.support.house import Tenant, settle
from tests.support.metering import add_device, metered
from tests.support.schema import bring_up
from wattgate.app.server.factory import Gateway, build_gateway
from wattgate.app.settings import Settings
from wattgate.operations.core.context import GraphQLContext
from wattgate.operations.core.runner import Runner
from wattgate.operations.vocabulary.node import encode_global_id
from wattgate.principal import Principal, Role

NOW = datetime(2026, 3, 2, 12, 10, tzinfo=UTC)
DAYS = ("2026-01-05T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-01T10:30:00Z", "2026-03-02T00:00:00Z")

RECORD_NAMES = {
    "ve": "virtual_entity",
    "veType": "virtual_entity_type",
    "tc": "terms_conditions",
    "tcUser": "terms_conditions_user",
    "rule": "alert_rule",
    "endpoint": "webhook_endpoint",
    "error": "webhook_error",
    "resourceType": "resource_type",
}
"""The names of records in `Tenant.ids`, for arguments with other names."""

ARGUMENT_VALUES: Mapping[str, list[Any]] = {
    "start": [*DAYS],
    "end": [*DAYS[1:], None],
    "revisedSince": [None, DAYS[0], "2027-01-01T00:00:00Z"],
    "Function": ["MIN", "MAX", "FIRST", "LAST", "SUM"],
    "Period": ["PT30M", "PT1H", "P1D", "P1W", "P1M"],
    "first": [1, 1, 2, 3, 50, 0],
    "after": [*[None] * 9, "nonsense"],
    "before": [*[None] * 9, "nonsense"],
    "last": [None, None, None, None, 2],
    "field": [None, "ENERGY", "POWER", "NOTHING"],
    "reference": [None, "app", "tips", "nothing"],
    "cultureCode": ["en-GB", "fr", "default"],
    "postcode": ["LS63QT", "A1 1AA"],
    "TimeZone": ["Europe/London", "UTC", "+05:30"],
    "tags": [None, "any"],
    "country": [None, "GB"],
}


class SequentialRunner:
    """A runner that runs one operation after the other, so that the order of errors is deterministic."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._turn = asyncio.Lock()

    async def run(self, *arguments: Any) -> Any:
        async with self._turn:
            return await self._runner.run(*arguments)

    async def load(self, *arguments: Any) -> list[Any]:
        async with self._turn:
            return await self._runner.load(*arguments)


@dataclass
class Homes:
    """Two tenants of one gateway. `callers` are the principals of requests."""

    gateway: Gateway
    one: Tenant
    other: Tenant
    ids: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def callers(self) -> list[Principal]:
        application = Principal(Role.APPLICATION, application_id=self.one.application_id)
        return [self.one.system, self.one.account, self.other.account, application, Principal(Role.ANONYMOUS)]

    def context(self, number: int) -> GraphQLContext:
        """Return the context of a request. Most contexts belong to callers with many permissions."""
        callers = self.callers
        caller = callers[number % 9] if number % 9 < len(callers) else self.one.system
        return GraphQLContext(SequentialRunner(self.gateway.runner), caller)  # type: ignore[arg-type]

    def argument_values(self, type_: str, name: str) -> list[Any]:
        """Return values of an argument: ids of existing records, of records of another tenant, and of no record."""
        if name in self.ids:
            return self.ids[name]
        if name.endswith("Id"):
            key = RECORD_NAMES.get(name[:-2], _snake(name[:-2]))
            existing_ids = [tenant.ids[key] for tenant in (*[self.one] * 9, self.other) if key in tenant.ids]
            return [*existing_ids, "nonsense"]
        return ARGUMENT_VALUES.get(name) or ARGUMENT_VALUES.get(type_) or []


@asynccontextmanager
async def open_homes(database_url: str) -> AsyncIterator[Homes]:
    """Yield a tenant with three homes, one of them with a meter point without consent, and another tenant."""
    gateway = build_gateway(
        Settings(_env_file=None, database_url=database_url, environment="development"), clock=lambda: NOW
    )
    try:
        await bring_up(gateway.database)
        homes = Homes(gateway, await settle(gateway, "one"), await settle(gateway, "other"))
        await _add_homes(homes)
        yield homes
    finally:
        await gateway.database.close()


async def _add_homes(homes: Homes) -> None:
    tenant = homes.one
    points = [await metered(tenant), await metered(tenant)]
    for point in points:
        await tenant.run("verify_meter_point", mpxn=point.mpxn)
        await _record(tenant, point.resource_id)
    further = [await tenant.add_resource(f"resource {number}") for number in range(3)]
    await tenant.set_tariff(points[0].resource_id, "Metered", standing_charge=Decimal("40"))
    await _record(tenant, further[0])
    home = await tenant.add_home(points[0].resource_id, further[0], tenant.ids["resource"])
    mixed = await tenant.add_home(points[1].resource_id, further[1])
    device = await add_device(tenant, *(point.resource_id for point in points), further[2])
    await tenant.run("revoke_consents", mpxns=[points[1].mpxn])
    resources = [
        tenant.ids["resource"],
        *(point.resource_id for point in points),
        *further,
        homes.other.ids["resource"],
    ]
    homes.ids |= {
        "resourceId": [*resources, *resources[:-1], "nonsense"],
        "homeId": [*[home, mixed, tenant.ids["virtual_entity"]] * 3, homes.other.ids["virtual_entity"], "nonsense"],
        "deviceId": [*[device, tenant.ids["device"]] * 4, homes.other.ids["device"]],
        "userId": [tenant.user_id, homes.other.user_id],
        "accountId": [tenant.account_id, homes.other.account_id],
        "username": [tenant.username, homes.other.username, "nobody"],
        "meterPointNumber": [*(point.mpxn for point in points), tenant.ids["mpxn"], "1"],
        "eui": [points[0].eui, points[1].eui, "nonsense"],
        "hardwareId": [points[0].eui, "nonsense"],
    }
    homes.ids["id"] = [
        *(encode_global_id("Resource", resource) for resource in resources),
        *(encode_global_id("Home", each) for each in (home, mixed)),
        encode_global_id("Device", device),
    ]
    homes.ids["ids"] = homes.ids["id"]


async def _record(tenant: Tenant, resource_id: str) -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    values = [(start + timedelta(minutes=30 * number), str(number / 8)) for number in range(60)]
    await tenant.record(resource_id, *values)


def _snake(name: str) -> str:
    return "".join(f"_{character.lower()}" if character.isupper() else character for character in name)
