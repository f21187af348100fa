"""Fills a database with the demonstration: an application, its people, their homes and 13 months of readings."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice

from strawberry import ID

from wattgate.app.demo import network
from wattgate.app.demo import tariffs as demo_tariffs
from wattgate.app.demo import templates as demo_templates
from wattgate.app.demo.simulation import HALF_HOUR, Habits, HalfHour, half_hour
from wattgate.clock import EPOCH
from wattgate.db.models import Resource
from wattgate.enums import TariffKind
from wattgate.graphql.catalogue import OPERATIONS
from wattgate.graphql.core.fields import edge_named
from wattgate.graphql.core.operation import Operation
from wattgate.graphql.core.runner import Runner
from wattgate.graphql.core.scalars import Json
from wattgate.graphql.resolvers import alerts as alert_resolvers
from wattgate.graphql.resolvers import provisioning, recording, resources, tariffs, templates, virtual_entities
from wattgate.graphql.types import alerts, content
from wattgate.graphql.types import readings as reading_types
from wattgate.graphql.types import resources as types
from wattgate.graphql.types import virtual_entities as home_types
from wattgate.graphql.types.tariffs import NewTariff
from wattgate.principal import Principal, Role

log = logging.getLogger(__name__)

APPLICATION_ID = "b0f1b774-a586-4f72-9edd-27ead8aa7a8d"
"""The public application id that published clients of this interface have built in."""

APPLICATION_USERNAME, APPLICATION_SECRET = "demo-app", "demo-secret"
USERNAME, PASSWORD = "demo@wattgate.example", "demo-password"
EDITOR = "editor@wattgate.example"
"""The administrator who writes the templates; the password is the same."""

SYSTEM = Principal(Role.SYSTEM, application_id=APPLICATION_ID)

HISTORY = timedelta(days=396)
OUTAGE_AGO, OUTAGE = timedelta(days=23, hours=7), timedelta(hours=6)
"""The demonstration's gap: the meter network was away for six hours three weeks before the database was made."""

ALERT_TYPE = "CM01"
"""The short code of the alert type of the demonstration."""

STORAGE_START = "2014-01-06T00:00:00+00:00"
BATCH = 10_000


@dataclass(frozen=True, slots=True)
class DemoResource:
    """A kind of series that homes have: of energy, which is recorded, or of its cost, which is computed."""

    classifier: str
    name: str
    unit: str
    source: str
    decimals: int
    cost: bool = False
    live: bool = False

    def value(self, counted: HalfHour) -> Decimal:
        """The reading for half an hour, at the decimals that are stored."""
        energy = {"GAS": counted.gas, "PWER_AEXP": counted.exported}.get(self.source, counted.imported)
        return round(Decimal(energy), self.decimals)


RESOURCES = (
    DemoResource("electricity.consumption", "electricity consumption", "kWh", "ELEC", 3, live=True),
    DemoResource("electricity.consumption.cost", "electricity cost", "pence", "ELEC", 4, cost=True),
    DemoResource("gas.consumption", "gas consumption", "kWh", "GAS", 5),
    DemoResource("gas.consumption.cost", "gas cost", "pence", "GAS", 4, cost=True),
    DemoResource("electricity.export", "active export", "kWh", "PWER_AEXP", 3),
)
ELECTRICITY = ("electricity.consumption", "electricity.consumption.cost")
GAS = ("gas.consumption", "gas.consumption.cost")


@dataclass(frozen=True, slots=True)
class DemoHome:
    name: str
    owner: str
    address: str
    city: str
    postal_code: str
    habits: Habits
    classifiers: tuple[str, ...]
    electricity: Callable[[str], list[NewTariff]]


HOMES = (
    DemoHome(
        "12 Alder Road",
        USERNAME,
        "12 Alder Road",
        "Leeds",
        "LS6 3QT",
        Habits(seed=11, electricity=8.4, gas_heating=7.5, hot_water=5.5),
        ELECTRICITY + GAS,
        demo_tariffs.night_saver,
    ),
    DemoHome(
        "Harbour Cottage",
        USERNAME,
        "3 Harbour Street",
        "Whitby",
        "YO21 3PU",
        Habits(seed=23, electricity=10.6, solar=4.2),
        (*ELECTRICITY, "electricity.export"),
        demo_tariffs.standard,
    ),
    DemoHome(
        "Flat 5, Mill Court",
        "neighbour@wattgate.example",
        "5 Mill Court",
        "Leeds",
        "LS1 4AP",
        Habits(seed=37, electricity=5.1),
        ELECTRICITY,
        demo_tariffs.half_hourly,
    ),
)


@dataclass(frozen=True, slots=True)
class Installed:
    """A demonstration home as it stands in the database: its resources' ids by classifier."""

    home: DemoHome
    resource_ids: dict[str, str]


async def install(runner: Runner) -> None:
    """Make the application, its people and their homes."""
    await runner.run(
        provisioning.create_application,
        SYSTEM,
        {
            "name": "wattgate demonstration",
            "application_id": APPLICATION_ID,
            "username": APPLICATION_USERNAME,
            "secret": APPLICATION_SECRET,
        },
    )
    type_ids = {one.classifier: await _add_resource_type(runner, one) for one in RESOURCES}
    kind = await runner.run(
        _named("add_virtual_entity_type"),
        SYSTEM,
        {"input": home_types.NewVirtualEntityType(name="Home", description="A home with smart meters")},
    )
    display_type_id = await network.add_display_type(runner, SYSTEM, _named("add_device_type"), type_ids)
    users: dict[str, str] = {}
    for home in HOMES:
        if home.owner not in users:
            account = await runner.run(
                provisioning.create_user,
                SYSTEM,
                {"username": home.owner, "password": PASSWORD, "name": "Sam Demo"},
            )
            users[home.owner] = account.user_id
        await _add_home(runner, home, users[home.owner], kind.ve_type_id, type_ids)
        owner = Principal(Role.SYSTEM, application_id=APPLICATION_ID, user_id=users[home.owner])
        gas = bool(home.habits.gas_heating)
        await network.add_meters(runner, SYSTEM, home.habits.seed, home.postal_code, gas=gas)
        await network.add_display(runner, owner, display_type_id, home.habits.seed, gas=gas)
    await _add_content(runner)
    await _add_templates(runner)
    await send_alert(runner, users[USERNAME])


async def send_alert(runner: Runner, user_id: str) -> None:
    """Alert a user of the demonstration to much power."""
    given = alerts.NewAlert(
        user_id=ID(user_id), alert_type_id=ALERT_TYPE, channels=[alerts.Channel.INBOX], data=Json({"power": 5200})
    )
    await runner.run(alert_resolvers.send_alert, SYSTEM, {"input": given})


async def installed(runner: Runner) -> list[Installed]:
    """The demonstration homes that the database has."""
    entities = await runner.run(virtual_entities.virtual_entities, SYSTEM, {})
    found = await runner.load(edge_named(home_types.VirtualEntity, "resources"), SYSTEM, entities, {})
    by_name = {home.name: home for home in HOMES}
    return [
        Installed(by_name[entity.name], {one.classifier: one.resource_id for one in owned})
        for entity, owned in zip(entities, found, strict=True)
        if entity.name in by_name
    ]


async def fill(runner: Runner, present: list[Installed], now: datetime, history: timedelta = HISTORY) -> int:
    """Record every half hour that has ended and is not there yet; how many readings that were."""
    recorded = 0
    for home in present:
        every = [
            await runner.run(resources.resource, SYSTEM, {"resource_id": resource_id})
            for resource_id in home.resource_ids.values()
        ]
        rows = [row for row in every if not row.cost_of]
        last = await runner.load(edge_named(types.Resource, "last_time"), SYSTEM, rows, {})
        starts = [one + HALF_HOUR if one else ended(now - history) for one in last]
        counted = list(_counted(home.home.habits, min(starts), ended(now), outage=now - OUTAGE_AGO))
        for row, start in zip(rows, starts, strict=True):
            series = next(one for one in RESOURCES if one.classifier == row.classifier)
            values = ((at, series.value(one)) for at, one in counted if at >= start)
            while batch := list(islice(values, BATCH)):
                at, value = map(list, zip(*batch, strict=True))
                given = reading_types.NewReadingColumns(resource_id=row.resource_id, at=at, value=value)
                done = await runner.run(recording.record_reading_columns, SYSTEM, {"series": [given]})
                recorded += done.recorded
        await _fill_prices(runner, rows, min(starts), now)
    return recorded


async def _fill_prices(runner: Runner, rows: list[Resource], start: datetime, now: datetime) -> None:
    """Set the prices of half-hourly tariffs from an instant on for as long as the demonstration may run."""
    for tariff in await runner.load(edge_named(types.Resource, "tariff"), SYSTEM, rows, {}):
        if tariff and tariff.kind is TariffKind.DYNAMIC:
            stop = now + demo_tariffs.PRICES_AHEAD
            since = max(start, tariff.valid_from)
            await demo_tariffs.fill_prices(runner, SYSTEM, tariff.tariff_id, since, stop)


def ended(now: datetime) -> datetime:
    """The end of the last half hour that is over."""
    return now - (now - EPOCH) % HALF_HOUR


def _counted(
    habits: Habits, start: datetime, stop: datetime, *, outage: datetime
) -> Iterator[tuple[datetime, HalfHour]]:
    """What a home's meters count in each half hour, but for the outage."""
    at = start
    while at < stop:
        if not outage <= at < outage + OUTAGE:
            yield at, half_hour(habits, at)
        at += HALF_HOUR


async def _add_resource_type(runner: Runner, series: DemoResource) -> str:
    energy = types.NewStorageField(
        field_name="COST" if series.cost else "ENERGY",
        unit=series.unit,
        datatype=f"fixedpoint({series.decimals})",
    )
    power = types.NewStorageField(field_name="POWER", unit="W", datatype="integer", negative=True)
    storage = [_storage("regular", energy), *([_storage("irregular", power)] if series.live else [])]
    added = await runner.run(
        resources.add_resource_type,
        SYSTEM,
        {
            "input": types.NewResourceType(
                name=series.name,
                classifier=series.classifier,
                storage=storage,
                description=f"{series.name} DCC SM profile reads",
                data_source_type="DEMO",
                data_source_resource_type_info=Json({"unit": series.unit, "type": series.source}),
                base_unit=series.unit,
            )
        },
    )
    return str(added.resource_type_id)


def _storage(sampling: str, field: types.NewStorageField) -> types.NewStorageDefinition:
    return types.NewStorageDefinition(type="timeseries", sampling=sampling, start=STORAGE_START, fields=[field])


async def _add_home(runner: Runner, home: DemoHome, user_id: str, ve_type_id: str, type_ids: dict[str, str]) -> None:
    owner = Principal(Role.SYSTEM, application_id=APPLICATION_ID, user_id=user_id)
    owned = []
    for series in RESOURCES:
        if series.classifier not in home.classifiers:
            continue
        added = await runner.run(
            resources.add_resource,
            owner,
            {
                "input": types.NewResource(
                    resource_type_id=ID(type_ids[series.classifier]),
                    name=series.name,
                    description=f"{series.name} DCC SM profile reads",
                    mpxn=(network.mprn if series.source == "GAS" else network.mpan)(home.habits.seed),
                )
            },
        )
        owned.append(home_types.OwnedResource(resource_id=added.resource_id))
        for given in [] if series.cost else _tariffs(home, series, added.resource_id):
            await runner.run(tariffs.set_tariff, SYSTEM, {"input": given})
    entity = await runner.run(
        virtual_entities.add_virtual_entity,
        owner,
        {
            "input": home_types.NewVirtualEntity(
                ve_type_id=ID(ve_type_id),
                name=home.name,
                resources=owned,
                postal_code=home.postal_code,
                city=home.city,
                country="GB",
                time_zone="Europe/London",
            )
        },
    )
    address = {"address": home.address, "city": home.city, "postcode": home.postal_code, "country": "GB"}
    await runner.run(
        virtual_entities.set_virtual_entity_attributes,
        owner,
        {"ve_id": entity.ve_id, "attributes": {"address": address}},
    )


def _tariffs(home: DemoHome, series: DemoResource, resource_id: str) -> list[NewTariff]:
    match series.source:
        case "GAS":
            return demo_tariffs.gas(resource_id)
        case "PWER_AEXP":
            return demo_tariffs.exported(resource_id)
        case _:
            return home.electricity(resource_id)


async def _add_content(runner: Runner) -> None:
    await runner.run(
        _named("add_faq"),
        SYSTEM,
        {
            "input": content.NewFaq(
                reference="app",
                version="1.0.0",
                minimum_version="1.0.0",
                country="GB",
                data=[
                    content.NewQuestionAndReply(
                        question="Why is there a gap in my history?",
                        reply="The meter network was away for some hours. What it did not keep cannot be shown.",
                    )
                ],
            )
        },
    )
    await runner.run(
        _named("add_alert_type"),
        SYSTEM,
        {
            "input": alerts.NewAlertType(
                name="High consumption", system_alert_type_id=ALERT_TYPE, description="More power than usual"
            )
        },
    )


async def _add_templates(runner: Runner) -> None:
    """Add the mails of the alert type, and the administrator who may change them."""
    editor = {"username": EDITOR, "password": PASSWORD, "name": "Robin Demo", "administrator": True}
    await runner.run(provisioning.create_user, SYSTEM, editor)
    kinds = await runner.run(_named("alert_types"), SYSTEM, {})
    for one in demo_templates.TEMPLATES:
        given = alerts.NewTemplate(
            alert_type_id=kinds[0].alert_type_id,
            name=one.name,
            channel_type=alerts.Channel.EMAIL,
            culture_code=one.culture_code,
            subject=one.subject,
            preheader=one.preheader,
            html_template=one.html,
        )
        await runner.run(templates.add_template, SYSTEM, {"input": given})


def _named(name: str) -> Operation:
    """An operation that an entity of the catalogue expands to."""
    return next(operation for operation in OPERATIONS if operation.name == name)
