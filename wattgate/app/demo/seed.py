"""Fill a database with the demonstration: an application, its users, their homes and 13 months of readings."""

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
from wattgate.app.demo.simulation import HALF_HOUR, Habits, HalfHour, simulate_half_hour
from wattgate.app.homes.series import (
    SERIES,
    Series,
    build_home_type,
    build_resource,
    build_resource_type,
    find_operation,
)
from wattgate.clock import EPOCH
from wattgate.db.models import Resource
from wattgate.enums import TariffKind
from wattgate.graphql.core.fields import find_edge
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
"""The public application ID that published clients of this interface contain."""

APPLICATION_USERNAME, APPLICATION_SECRET = "demo-app", "demo-secret"
USERNAME, PASSWORD = "demo@wattgate.example", "demo-password"
EDITOR_USERNAME = "editor@wattgate.example"
"""The administrator who edits the templates, with the same password."""

SYSTEM_PRINCIPAL = Principal(Role.SYSTEM, application_id=APPLICATION_ID)

HISTORY = timedelta(days=396)
"""Length of the recorded history: 13 months."""

OUTAGE_AGO, OUTAGE_DURATION = timedelta(days=23, hours=7), timedelta(hours=6)
"""A simulated outage of the meter network, so that the history has a gap: its start before now, and its length."""

ALERT_TYPE = "CM01"
"""The `systemAlertTypeId` of the demonstration's alert type."""

BATCH_READINGS = 10_000


RESOURCES = SERIES
"""The resource types of the homes: energy, which is recorded, and its cost, which is computed."""

ELECTRICITY_CLASSIFIERS = ("electricity.consumption", "electricity.consumption.cost")
GAS_CLASSIFIERS = ("gas.consumption", "gas.consumption.cost")


@dataclass(frozen=True, slots=True)
class DemoHome:
    name: str
    owner: str
    address: str
    city: str
    postal_code: str
    habits: Habits
    classifiers: tuple[str, ...]
    electricity_tariffs: Callable[[str], list[NewTariff]]


HOMES = (
    DemoHome(
        "12 Alder Road",
        USERNAME,
        "12 Alder Road",
        "Leeds",
        "LS6 3QT",
        Habits(seed=11, electricity=8.4, gas_heating=7.5, hot_water=5.5),
        ELECTRICITY_CLASSIFIERS + GAS_CLASSIFIERS,
        demo_tariffs.night_saver_tariffs,
    ),
    DemoHome(
        "Harbour Cottage",
        USERNAME,
        "3 Harbour Street",
        "Whitby",
        "YO21 3PU",
        Habits(seed=23, electricity=10.6, solar=4.2),
        (*ELECTRICITY_CLASSIFIERS, "electricity.export"),
        demo_tariffs.standard_tariffs,
    ),
    DemoHome(
        "Flat 5, Mill Court",
        "neighbour@wattgate.example",
        "5 Mill Court",
        "Leeds",
        "LS1 4AP",
        Habits(seed=37, electricity=5.1),
        ELECTRICITY_CLASSIFIERS,
        demo_tariffs.half_hourly_tariffs,
    ),
)


@dataclass(frozen=True, slots=True)
class InstalledHome:
    """A demonstration home in the database, with the IDs of its resources by classifier."""

    home: DemoHome
    resource_ids: dict[str, str]


async def install_demo(runner: Runner) -> None:
    """Create the application, its users and their homes."""
    await runner.run(
        provisioning.create_application,
        SYSTEM_PRINCIPAL,
        {
            "name": "wattgate demonstration",
            "application_id": APPLICATION_ID,
            "username": APPLICATION_USERNAME,
            "secret": APPLICATION_SECRET,
        },
    )
    type_ids = {resource.classifier: await _add_resource_type(runner, resource) for resource in RESOURCES}
    home_type = await runner.run(
        find_operation("add_virtual_entity_type"), SYSTEM_PRINCIPAL, {"input": build_home_type()}
    )
    display_type_id = await network.add_display_type(
        runner, SYSTEM_PRINCIPAL, find_operation("add_device_type"), type_ids
    )
    users: dict[str, str] = {}
    for home in HOMES:
        if home.owner not in users:
            account = await runner.run(
                provisioning.create_user,
                SYSTEM_PRINCIPAL,
                {"username": home.owner, "password": PASSWORD, "name": "Sam Demo"},
            )
            users[home.owner] = account.user_id
        await _add_home(runner, home, users[home.owner], home_type.ve_type_id, type_ids)
        owner = Principal(Role.SYSTEM, application_id=APPLICATION_ID, user_id=users[home.owner])
        gas = bool(home.habits.gas_heating)
        await network.add_meters(runner, SYSTEM_PRINCIPAL, home.habits.seed, home.postal_code, gas=gas)
        await network.add_display(runner, owner, display_type_id, home.habits.seed, gas=gas)
    await _add_content(runner)
    await _add_templates(runner)
    await send_alert(runner, users[USERNAME])


async def send_alert(runner: Runner, user_id: str) -> None:
    """Send a user of the demonstration a high consumption alert."""
    new_alert = alerts.NewAlert(
        user_id=ID(user_id), alert_type_id=ALERT_TYPE, channels=[alerts.Channel.INBOX], data=Json({"power": 5200})
    )
    await runner.run(alert_resolvers.send_alert, SYSTEM_PRINCIPAL, {"input": new_alert})


async def list_installed_homes(runner: Runner) -> list[InstalledHome]:
    """Return the demonstration homes that exist in the database."""
    entities = await runner.run(virtual_entities.virtual_entities, SYSTEM_PRINCIPAL, {})
    resources_by_entity = await runner.load(
        find_edge(home_types.VirtualEntity, "resources"), SYSTEM_PRINCIPAL, entities, {}
    )
    by_name = {home.name: home for home in HOMES}
    return [
        InstalledHome(
            by_name[entity.name], {resource.classifier: resource.resource_id for resource in entity_resources}
        )
        for entity, entity_resources in zip(entities, resources_by_entity, strict=True)
        if entity.name in by_name
    ]


async def fill_readings(runner: Runner, homes: list[InstalledHome], now: datetime, history: timedelta = HISTORY) -> int:
    """Record the completed half hours that are missing. Return the number of readings recorded."""
    recorded = 0
    for home in homes:
        all_rows = [
            await runner.run(resources.resource, SYSTEM_PRINCIPAL, {"resource_id": resource_id})
            for resource_id in home.resource_ids.values()
        ]
        rows = [row for row in all_rows if not row.cost_of]
        last_times = await runner.load(find_edge(types.Resource, "last_time"), SYSTEM_PRINCIPAL, rows, {})
        starts = [last + HALF_HOUR if last else last_half_hour_end(now - history) for last in last_times]
        half_hours = list(
            _simulate_readings(home.home.habits, min(starts), last_half_hour_end(now), outage=now - OUTAGE_AGO)
        )
        for row, start in zip(rows, starts, strict=True):
            series = next(resource for resource in RESOURCES if resource.classifier == row.classifier)
            values = ((at, simulated_value(series, half_hour)) for at, half_hour in half_hours if at >= start)
            while batch := list(islice(values, BATCH_READINGS)):
                at, value = map(list, zip(*batch, strict=True))
                columns = reading_types.NewReadingColumns(resource_id=row.resource_id, at=at, value=value)
                result = await runner.run(recording.record_reading_columns, SYSTEM_PRINCIPAL, {"series": [columns]})
                recorded += result.recorded
        await _fill_prices(runner, rows, min(starts), now)
    return recorded


async def _fill_prices(runner: Runner, rows: list[Resource], start: datetime, now: datetime) -> None:
    """Set the prices of dynamic tariffs from `start` until PRICES_AHEAD after `now`."""
    for tariff in await runner.load(find_edge(types.Resource, "tariff"), SYSTEM_PRINCIPAL, rows, {}):
        if tariff and tariff.kind is TariffKind.DYNAMIC:
            stop = now + demo_tariffs.PRICES_AHEAD
            since = max(start, tariff.valid_from)
            await demo_tariffs.fill_prices(runner, SYSTEM_PRINCIPAL, tariff.tariff_id, since, stop)


def last_half_hour_end(now: datetime) -> datetime:
    """Return the end of the last completed half hour."""
    return now - (now - EPOCH) % HALF_HOUR


def _simulate_readings(
    habits: Habits, start: datetime, stop: datetime, *, outage: datetime
) -> Iterator[tuple[datetime, HalfHour]]:
    """Yield the simulated energy of each half hour from `start` until before `stop`, except during the outage."""
    at = start
    while at < stop:
        if not outage <= at < outage + OUTAGE_DURATION:
            yield at, simulate_half_hour(habits, at)
        at += HALF_HOUR


async def _add_resource_type(runner: Runner, series: Series) -> str:
    new_type = build_resource_type(series, live=series.has_live_power, source="DEMO", description=_describe(series))
    added = await runner.run(resources.add_resource_type, SYSTEM_PRINCIPAL, {"input": new_type})
    return str(added.resource_type_id)


def _describe(series: Series) -> str:
    return f"{series.name} DCC SM profile reads"


def simulated_value(series: Series, half_hour: HalfHour) -> Decimal:
    """Return the reading of a half hour, rounded to the stored decimals."""
    energy = {"GAS": half_hour.gas, "PWER_AEXP": half_hour.exported}.get(series.source, half_hour.imported)
    return round(Decimal(energy), series.decimals)


async def _add_home(runner: Runner, home: DemoHome, user_id: str, ve_type_id: str, type_ids: dict[str, str]) -> None:
    owner = Principal(Role.SYSTEM, application_id=APPLICATION_ID, user_id=user_id)
    owned_resources = []
    for series in RESOURCES:
        if series.classifier not in home.classifiers:
            continue
        mpxn = (network.mprn if series.source == "GAS" else network.mpan)(home.habits.seed)
        new_resource = build_resource(series, type_ids[series.classifier], mpxn, _describe(series))
        added = await runner.run(resources.add_resource, owner, {"input": new_resource})
        owned_resources.append(home_types.OwnedResource(resource_id=added.resource_id))
        for new_tariff in [] if series.is_cost else _tariffs(home, series, added.resource_id):
            await runner.run(tariffs.set_tariff, SYSTEM_PRINCIPAL, {"input": new_tariff})
    entity = await runner.run(
        virtual_entities.add_virtual_entity,
        owner,
        {
            "input": home_types.NewVirtualEntity(
                ve_type_id=ID(ve_type_id),
                name=home.name,
                resources=owned_resources,
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


def _tariffs(home: DemoHome, series: Series, resource_id: str) -> list[NewTariff]:
    match series.source:
        case "GAS":
            return demo_tariffs.gas_tariffs(resource_id)
        case "PWER_AEXP":
            return demo_tariffs.export_tariffs(resource_id)
        case _:
            return home.electricity_tariffs(resource_id)


async def _add_content(runner: Runner) -> None:
    await runner.run(
        find_operation("add_faq"),
        SYSTEM_PRINCIPAL,
        {
            "input": content.NewFaq(
                reference="app",
                version="1.0.0",
                minimum_version="1.0.0",
                country="GB",
                data=[
                    content.NewQuestionAndReply(
                        question="Why is there a gap in my history?",
                        reply="The meter network was unavailable for some hours. "
                        "Readings that it did not store cannot be shown.",
                    )
                ],
            )
        },
    )
    await runner.run(
        find_operation("add_alert_type"),
        SYSTEM_PRINCIPAL,
        {
            "input": alerts.NewAlertType(
                name="High consumption", system_alert_type_id=ALERT_TYPE, description="More power than usual"
            )
        },
    )


async def _add_templates(runner: Runner) -> None:
    """Add the mail templates of the alert type, and the administrator who may change them."""
    editor = {"username": EDITOR_USERNAME, "password": PASSWORD, "name": "Robin Demo", "administrator": True}
    await runner.run(provisioning.create_user, SYSTEM_PRINCIPAL, editor)
    alert_types = await runner.run(find_operation("alert_types"), SYSTEM_PRINCIPAL, {})
    for template in demo_templates.TEMPLATES:
        new_template = alerts.NewTemplate(
            alert_type_id=alert_types[0].alert_type_id,
            name=template.name,
            channel_type=alerts.Channel.EMAIL,
            culture_code=template.culture_code,
            subject=template.subject,
            preheader=template.preheader,
            html_template=template.html,
        )
        await runner.run(templates.add_template, SYSTEM_PRINCIPAL, {"input": new_template})
