"""A served gateway with two tenants, each with one record of every kind."""

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import httpx
from strawberry import ID

from tests.support import metering
from tests.support.filled_databases import can_copy, copy_filled
from tests.support.openapi import check_response
from tests.support.people import oauth_headers, paired_display
from tests.support.refusals import undeclared_refusals, with_refusals
from tests.support.sample_records import add_sample_records
from tests.support.schema import bring_up
from tests.support.servers import serving
from wattgate.app.server.factory import Gateway, build_gateway, create_app
from wattgate.app.settings import Settings
from wattgate.clock import Clock, utc_now
from wattgate.energy.storage_fields import LEARNED
from wattgate.enums import TariffKind
from wattgate.operations.accounts import provisioning
from wattgate.operations.catalogue import OPERATIONS
from wattgate.operations.core.fields import find_edge
from wattgate.operations.core.operation import Operation, OperationKind
from wattgate.operations.credentials import tokens
from wattgate.operations.readings import recording
from wattgate.operations.types.content import content
from wattgate.operations.types.homes import resources as resource_types
from wattgate.operations.types.homes import virtual_entities as home_types
from wattgate.operations.types.identity import accounts as account_types
from wattgate.operations.types.identity.directories import DirectoryChange
from wattgate.operations.types.messages.alert_types import NewAlertType
from wattgate.operations.types.meters import readings as reading_types
from wattgate.operations.types.meters import tariffs as tariff_types
from wattgate.operations.vocabulary.scalars import Currency
from wattgate.principal import Principal, Role

PASSWORD = "correct horse"
CALLER_BUDGET = 10_000_000
"""Budget of an account per minute. It is high because all tests of a run share the account."""
ADDRESS_LIMITS = (
    *("address_logins", "address_registrations", "address_codes", "address_documents"),
    *("address_shared_previews", "address_pairings", "address_requests"),
)
"""Settings that are as high, because all tests of a run share the address."""
OWN_RECORDS = {"database_pooler", "database_replica_url", "redis_url", "secret_keys"}
"""Settings with which a house has records of its own: ids meet in Redis, keys encrypt secrets, poolers copy none."""
TARIFF_START = datetime(2024, 1, 1, tzinfo=UTC)
STORAGE = [
    resource_types.NewStorageDefinition(
        type="timeseries",
        sampling="regular",
        start="2014-01-06T00:00:00+00:00",
        fields=[resource_types.NewStorageField(field_name="ENERGY", unit="kWh", datatype="fixedpoint(3)")],
    ),
    resource_types.NewStorageDefinition(
        type="timeseries",
        sampling="irregular",
        start="2014-01-06T00:00:00+00:00",
        fields=[resource_types.NewStorageField(field_name="POWER", unit="W", datatype="integer", negative=True)],
    ),
]


def operation(name: str, kind: OperationKind | None = None) -> Operation:
    """Return the operation with this name in the catalogue."""
    return next(candidate for candidate in OPERATIONS if candidate.name == name and kind in (None, candidate.kind))


def basic(username: str, password: str) -> dict[str, str]:
    """Return the headers of the Basic authentication scheme."""
    return {"Authorization": "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()}


@dataclass
class Tenant:
    """An application with its users and one record of every kind. `headers` holds credentials by kind of caller."""

    gateway: Gateway
    application_id: str
    user_id: str = ""
    account_id: str = ""
    username: str = ""
    headers: dict[str, dict[str, str]] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def system(self) -> Principal:
        return Principal(Role.SYSTEM, application_id=self.application_id, user_id=self.user_id)

    @property
    def account(self) -> Principal:
        return Principal(
            Role.ACCOUNT, application_id=self.application_id, user_id=self.user_id, account_id=self.account_id
        )

    async def run(self, name: str, **arguments: Any) -> Any:
        """Run a catalogue operation for the tenant's user, with every permission."""
        return await self.gateway.runner.run(operation(name), self.system, arguments)

    async def deactivate_directory(self) -> None:
        """Deactivate the sample directory, because `wattgate doctor` fails without its provider."""
        change = DirectoryChange(active=False)
        await self.run("update_directory", directory_id=ID(self.ids["directory"]), input=change)

    async def edge(self, shape: Any, name: str, parents: list[Any]) -> list[Any]:
        """Load an edge of a type for each parent."""
        return await self.gateway.runner.load(find_edge(shape, name), self.system, parents, {})

    async def add_resource(self, name: str = "electricity consumption", **values: Any) -> str:
        resource = resource_types.NewResource(resource_type_id=ID(self.ids["resource_type"]), name=name, **values)
        return str((await self.run("add_resource", input=resource)).resource_id)

    async def add_learning_resource(self, classifier: str = "electricity.consumption", **values: Any) -> str:
        """Add a resource that learns the interval of its data, as `home create` does."""
        storage = [replace(STORAGE[0], sampling=LEARNED), STORAGE[1]]
        resource_type = resource_types.NewResourceType(name="learning", classifier=classifier, storage=storage)
        type_id = (await self.run("add_resource_type", input=resource_type)).resource_type_id
        resource = resource_types.NewResource(resource_type_id=ID(type_id), name="learning", **values)
        return str((await self.run("add_resource", input=resource)).resource_id)

    async def add_home(self, *resource_ids: str) -> str:
        home = home_types.NewVirtualEntity(
            ve_type_id=ID(self.ids["virtual_entity_type"]),
            name="Home",
            postal_code="A1 1AA",
            resources=[home_types.OwnedResource(resource_id=ID(owned_id)) for owned_id in resource_ids],
        )
        return str((await self.run("add_virtual_entity", input=home)).ve_id)

    async def add_account(self, username: str) -> str:
        account = account_types.NewAccount(username=username, user_id=ID(self.user_id), password=PASSWORD)
        return str((await self.run("add_account", input=account)).account_id)

    async def add_token(self) -> str:
        """Issue another token for the tenant's account."""
        issued = await self.gateway.runner.run(tokens.new_token, self.account, {})
        return str(issued.token)

    async def set_tariff(
        self, resource_id: str, name: str = "Standard", valid_from: datetime = TARIFF_START, **values: Any
    ) -> Any:
        """Set a tariff of a resource and return it. The default is a flat rate of 24.5 pence.

        Rates and charges are in pence, as bills state them, so that expected costs are short numbers. The time zone is
        that of London.
        """
        values.setdefault("time_zone", "Europe/London")
        terms = {"kind": TariffKind.FLAT, "rate": Decimal("24.5")} if "kind" not in values else {}
        tariff = tariff_types.NewTariff(
            resource_id=ID(resource_id),
            name=name,
            valid_from=valid_from,
            currency=Currency("GBP"),
            **_in_pounds({**terms, **values}),
        )
        return await self.run("set_tariff", input=tariff)

    async def set_prices(self, tariff_id: str, prices: Sequence[tariff_types.NewTariffPrice]) -> Any:
        """Set prices of a dynamic tariff, whose rates are in pence."""
        return await self.run(
            "set_tariff_prices",
            tariff_id=ID(tariff_id),
            currency=Currency("GBP"),
            prices=[replace(price, rate=price.rate / 100) for price in prices],
        )

    async def record(self, resource_id: str, *values: tuple[datetime, str], field: str | None = None) -> None:
        series = reading_types.NewReadings(
            resource_id=ID(resource_id),
            field=field,
            readings=[reading_types.NewReading(at=at, value=Decimal(value)) for at, value in values],
        )
        await self.gateway.runner.run(recording.record_readings, self.system, {"series": [series]})


def _in_pounds(terms: dict[str, Any]) -> dict[str, Any]:
    """Return the terms of a new tariff whose rates are in pence, with rates in pounds."""
    amounts = {name: terms[name] / 100 for name in ("rate", "standing_charge") if terms.get(name) is not None}
    parts = {
        name: [replace(part, rate=part.rate / 100) for part in terms.get(name, ())]
        for name in ("bands", "blocks", "components")
    }
    parts["components"] = [
        replace(part, steps=[replace(step, rate=step.rate / 100) for step in part.steps])
        for part in parts["components"]
    ]
    if formula := terms.get("price_formula"):
        floor, cap = (None if limit is None else limit / 100 for limit in (formula.floor, formula.cap))
        parts["price_formula"] = replace(formula, floor=floor, cap=cap)
    return {**terms, **amounts, **parts}


async def settle(gateway: Gateway, name: str) -> Tenant:
    """Create a tenant: an application, a user with an account, an administrator, and one record of every kind."""
    tenant = await settle_without_records(gateway, name)
    await _add_basic_records(tenant)
    await add_sample_records(tenant)
    await metering.add_device_records(tenant)
    tenant.headers["oauth"] = await oauth_headers(tenant)
    tenant.headers["display"], tenant.ids["paired_display"] = await paired_display(tenant)
    return tenant


async def settle_without_records(gateway: Gateway, name: str) -> Tenant:
    """Create a tenant of an application, a user with an account, and an administrator."""
    run = gateway.runner.run
    application = await run(
        provisioning.create_application, Principal(Role.SYSTEM), {"name": name, "username": f"{name}-app"}
    )
    tenant = Tenant(gateway, application.application_id)
    tenant.username = f"user@{name}.example"
    for caller, username, administrator in (
        ("account", tenant.username, False),
        ("administrator", f"admin@{name}.example", True),
    ):
        created = await run(
            provisioning.create_user,
            tenant.system,
            {"username": username, "password": PASSWORD, "administrator": administrator},
        )
        login = await run(
            tokens.authenticate,
            Principal(Role.ANONYMOUS),
            {"application_id": tenant.application_id, "username": username, "password": PASSWORD},
        )
        tenant.headers[caller] = {"token": login.token}
        if caller == "account":
            tenant.user_id, tenant.account_id = created.user_id, created.account_id
            tenant.headers["account basic"] = {
                **basic(username, PASSWORD),
                "applicationId": tenant.application_id,
            }
    tenant.headers["application"] = basic(application.username, application.secret)
    tenant.headers["acting"] = {**tenant.headers["application"], "userId": tenant.user_id}
    return tenant


async def settle_all(gateway: Gateway, names: Sequence[str], *, is_shared: bool) -> list[Tenant]:
    """Return these tenants on the new database of a gateway.

    With `is_shared`, the database is a copy of one with these tenants. Tenants of several databases then have the same
    ids, which must not meet in a Redis server.
    """
    url = gateway.database.url
    if is_shared and can_copy(url):
        tenants = await copy_filled(url, names, partial(_fill, names))
        return [
            replace(tenant, gateway=gateway, headers=deepcopy(tenant.headers), ids=dict(tenant.ids))
            for tenant in tenants
        ]
    await bring_up(gateway.database)
    return [await settle(gateway, name) for name in names]


async def _fill(names: Sequence[str], database_url: str) -> list[Tenant]:
    gateway = build_gateway(Settings(_env_file=None, database_url=database_url))
    try:
        return await settle_all(gateway, names, is_shared=False)
    finally:
        await gateway.database.close()


@asynccontextmanager
async def tenant_on(database_url: str) -> AsyncIterator[Tenant]:
    """Yield a tenant on a new database without a running server."""
    gateway = build_gateway(Settings(_env_file=None, database_url=database_url))
    try:
        (tenant,) = await settle_all(gateway, ["one"], is_shared=True)
        yield tenant
    finally:
        await gateway.database.close()


async def _add_basic_records(tenant: Tenant) -> None:
    ids = tenant.ids
    resource_type = resource_types.NewResourceType(
        name="electricity", classifier="electricity.consumption", storage=STORAGE, base_unit="kWh"
    )
    ids["resource_type"] = (await tenant.run("add_resource_type", input=resource_type)).resource_type_id
    required_resource = home_types.NewWantedResource(resource_type_id=ID(ids["resource_type"]), required=True)
    home_type = home_types.NewVirtualEntityType(name="Home", resources=[required_resource])
    ids["virtual_entity_type"] = (await tenant.run("add_virtual_entity_type", input=home_type)).ve_type_id
    ids["resource"] = await tenant.add_resource()
    ids["virtual_entity"] = await tenant.add_home(ids["resource"])
    alert_type = NewAlertType(name="High", system_alert_type_id="CM01", description="High use")
    ids["alert_type"] = (await tenant.run("add_alert_type", input=alert_type)).alert_type_id
    faq = content.NewFaq(
        reference="app",
        version="1.2.0",
        minimum_version="1.0.0",
        country="GB",
        data=[content.NewQuestionAndReply(question="Why?", reply="Because.")],
    )
    ids["faq"] = (await tenant.run("add_faq", input=faq)).faq_id
    await tenant.set_tariff(ids["resource"], "Standard", standing_charge=Decimal("53.8"))
    await tenant.record(
        ids["resource"],
        (datetime(2026, 1, 5, 0, 0, tzinfo=UTC), "0.125"),
        (datetime(2026, 1, 5, 0, 30, tzinfo=UTC), "0.250"),
        (datetime(2026, 1, 5, 1, 30, tzinfo=UTC), "1.5"),
    )


@dataclass
class House:
    """A served gateway: its URL, an HTTP client on it, the parts of another gateway beside it, and two tenants.

    `served_gateway` has the parts of the served gateway itself, if the function `house` opened it.
    """

    url: str
    http: httpx.AsyncClient
    gateway: Gateway
    one: Tenant
    other: Tenant
    served_gateway: Gateway | None = field(default=None, kw_only=True)

    @property
    def rest(self) -> str:
        return f"{self.url}/api/v0-1"

    async def graphql(self, query: str, headers: dict[str, str], **variables: Any) -> dict[str, Any]:
        """Send a GraphQL request and return the JSON response. Fail if a mutation does not declare its refusal."""
        request = {"query": with_refusals(query), "variables": variables}
        answer = dict((await self.http.post("/graphql", json=request, headers=headers)).json())
        assert not undeclared_refusals(query, answer), answer
        return answer

    async def until_subscribed(self, topic: str) -> None:
        """Wait until a subscription receives the events on a topic."""
        assert self.served_gateway is not None
        groups = self.served_gateway.realtime.groups._groups
        async with asyncio.timeout(60):
            while not any(topic in group.topics and group.size for group in groups.values()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    async def call(self, method: str, path: str, headers: dict[str, str], **more: Any) -> httpx.Response:
        """Send a REST request and return the response, which must be one that the OpenAPI document permits."""
        response = await self.http.request(method, f"/api/v0-1{path}", headers=headers, **more)
        check_response(method, path, response)
        return response


PUBLIC_URL = "http://gateway.example"
"""The public URL in links. Tests replace it by the address of the gateway."""


@asynccontextmanager
async def house(
    database_url: str,
    broker_url: str | None = None,
    *,
    clock: Clock = utc_now,
    shows_present: bool = False,
    **more: Any,
) -> AsyncIterator[House]:
    """Serve a gateway with two tenants on a new database and a free port. `more` holds additional settings.

    With `broker_url`, the gateway receives readings of the first tenant's displays from this MQTT broker. With a
    `clock`, the tenants are copied only if it `shows_present`, because copies have records of the present time.
    """
    defaults: dict[str, Any] = {
        "database_url": database_url,
        "allowed_origins": ["*"],
        "test_addresses": ["@testers.example"],
        "public_url": PUBLIC_URL,
        "link_key": "the key of the links in the tests",
        "caller_budget": CALLER_BUDGET,
        **dict.fromkeys(ADDRESS_LIMITS, CALLER_BUDGET),
    }
    settings = Settings(_env_file=None, **defaults | more)
    gateway = build_gateway(settings, clock=clock)
    try:
        is_present = shows_present or clock is utc_now
        is_shared = is_present and broker_url is None and not OWN_RECORDS & more.keys()
        one, other = await settle_all(gateway, ["one", "other"], is_shared=is_shared)
        displays = {"mqtt_url": broker_url, "mqtt_application_id": one.application_id} if broker_url else {}
        application = create_app(settings.model_copy(update=displays), clock=clock)
        async with (
            serving(application) as url,
            httpx.AsyncClient(base_url=url, timeout=30) as http,
        ):
            yield House(url, http, gateway, one, other, served_gateway=application.state.gateway)
    finally:
        await gateway.database.close()
