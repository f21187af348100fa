"""Two tenants with homes in a real database, at a time that stands still, and what may be asked of them."""

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
from wattgate.app.server.factory import Gateway, assemble
from wattgate.app.settings import Settings
from wattgate.graphql.core.context import Context
from wattgate.graphql.core.runner import Runner
from wattgate.principal import Principal, Role

NOW = datetime(2026, 3, 2, 12, 10, tzinfo=UTC)
DAYS = ("2026-01-05T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-01T10:30:00Z", "2026-03-02T00:00:00Z")

NAMES = {
    "ve": "virtual_entity",
    "veType": "virtual_entity_type",
    "tc": "terms_conditions",
    "tcUser": "terms_conditions_user",
    "rule": "alert_rule",
    "endpoint": "webhook_endpoint",
    "error": "webhook_error",
    "resourceType": "resource_type",
}
"""What the identifiers of arguments are called among a tenant's."""

KNOWN: Mapping[str, list[Any]] = {
    "start": [*DAYS],
    "end": [*DAYS[1:], None],
    "revisedSince": [None, DAYS[0], "2027-01-01T00:00:00Z"],
    "Period": ["PT30M", "PT1H", "P1D", "P1W", "P1M"],
    "first": [1, 1, 2, 3, 50, 0],
    "after": [None, None, None, "nonsense"],
    "field": [None, "ENERGY", "POWER", "NOTHING"],
    "reference": [None, "app", "tips", "nothing"],
    "cultureCode": ["en-GB", "fr", "default"],
    "postcode": ["LS63QT", "A1 1AA"],
    "TimeZone": ["Europe/London", "UTC", "+05:30"],
    "tags": [None, "any"],
    "country": [None, "GB"],
}


class InTurn:
    """A runner that does one thing after the other, so that the order in which errors come does not hang on luck."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._turn = asyncio.Lock()

    async def run(self, *asked: Any) -> Any:
        async with self._turn:
            return await self._runner.run(*asked)

    async def load(self, *asked: Any) -> list[Any]:
        async with self._turn:
            return await self._runner.load(*asked)


@dataclass
class Homes:
    """Two tenants of one gateway. `callers` are those who may ask."""

    gateway: Gateway
    one: Tenant
    other: Tenant
    seen: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def callers(self) -> list[Principal]:
        whole = Principal(Role.APPLICATION, application_id=self.one.application_id)
        return [self.one.system, self.one.account, self.other.account, whole, Principal(Role.ANONYMOUS)]

    def context(self, number: int) -> Context:
        """The context of a request; most come from those who see much."""
        callers = self.callers
        caller = callers[number % 9] if number % 9 < len(callers) else self.one.system
        return Context(InTurn(self.gateway.runner), caller)  # type: ignore[arg-type]

    def known(self, type_: str, name: str) -> list[Any]:
        """Values of arguments: identifiers of records that are there, that are another tenant's, and that are none."""
        if name in self.seen:
            return self.seen[name]
        if name.endswith("Id"):
            key = NAMES.get(name[:-2], _snake(name[:-2]))
            found = [tenant.ids[key] for tenant in (*[self.one] * 9, self.other) if key in tenant.ids]
            return [*found, "nonsense"]
        return KNOWN.get(name) or KNOWN.get(type_) or []


@asynccontextmanager
async def homes_on(database_url: str) -> AsyncIterator[Homes]:
    """A tenant with three homes, one of which has a meter point whose consent is withdrawn, and another tenant."""
    gateway = assemble(
        Settings(_env_file=None, database_url=database_url, environment="development"), clock=lambda: NOW
    )
    try:
        await bring_up(gateway.database)
        made = Homes(gateway, await settle(gateway, "one"), await settle(gateway, "other"))
        await _furnish(made)
        yield made
    finally:
        await gateway.database.close()


async def _furnish(homes: Homes) -> None:
    one = homes.one
    points = [await metered(one), await metered(one)]
    for point in points:
        await one.run("verify_meter_point", mpxn=point.mpxn)
        await _record(one, point.resource_id)
    further = [await one.add_resource(f"resource {number}") for number in range(3)]
    await one.set_tariff(points[0].resource_id, "Metered", standing_charge=Decimal("40"))
    await _record(one, further[0])
    home = await one.add_home(points[0].resource_id, further[0], one.ids["resource"])
    mixed = await one.add_home(points[1].resource_id, further[1])
    device = await add_device(one, *(point.resource_id for point in points), further[2])
    await one.run("revoke_consents", mpxns=[points[1].mpxn])
    resources = [one.ids["resource"], *(point.resource_id for point in points), *further, homes.other.ids["resource"]]
    homes.seen |= {
        "resourceId": [*resources, *resources[:-1], "nonsense"],
        "veId": [*[home, mixed, one.ids["virtual_entity"]] * 3, homes.other.ids["virtual_entity"], "nonsense"],
        "deviceId": [device, one.ids["device"], homes.other.ids["device"]],
        "userId": [one.user_id, homes.other.user_id],
        "accountId": [one.account_id, homes.other.account_id],
        "username": [one.username, homes.other.username, "nobody"],
        "mpxn": [*(point.mpxn for point in points), one.ids["mpxn"], "1"],
        "meterPointNumber": [points[0].mpxn, points[1].mpxn, "nonsense"],
        "eui": [points[0].eui, points[1].eui, "nonsense"],
        "hardwareId": [points[0].eui, "nonsense"],
    }


async def _record(tenant: Tenant, resource_id: str) -> None:
    start = datetime(2026, 3, 1, tzinfo=UTC)
    values = [(start + timedelta(minutes=30 * number), str(number / 8)) for number in range(60)]
    await tenant.record(resource_id, *values)


def _snake(name: str) -> str:
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in name)
