"""Fill a database with the demonstration: an application, its users, their homes and 13 months of readings."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice

from wattgate.app.demo import alerts, content, flexibility, network
from wattgate.app.demo import tariffs as demo_tariffs
from wattgate.app.demo.logins import EDITOR_USERNAME, LOGINS, NEIGHBOUR_USERNAME, PASSWORD, USERNAME
from wattgate.app.demo.network import mpan
from wattgate.app.demo.simulation import HALF_HOUR, Habits, HalfHour, simulate_half_hour
from wattgate.app.homes.household_alerts import ensure_alert_types
from wattgate.app.homes.records import ensure_record, ignore_note
from wattgate.app.homes.series import (
    SERIES,
    Series,
    build_home_type,
    build_resource,
    build_resource_type,
    find_operation,
)
from wattgate.clock import EPOCH, TimeRange
from wattgate.db.models import Resource
from wattgate.enums import RuleKind, TariffKind
from wattgate.operations import tariffs
from wattgate.operations.accounts import provisioning
from wattgate.operations.consent import consent
from wattgate.operations.core.fields import find_edge
from wattgate.operations.core.runner import Runner
from wattgate.operations.homes import home_resources, resources, virtual_entities
from wattgate.operations.readings import recording
from wattgate.operations.types.consent import MeterPointConsent
from wattgate.operations.types.homes import resources as types
from wattgate.operations.types.homes import virtual_entities as home_types
from wattgate.operations.types.meters import readings as reading_types
from wattgate.operations.types.meters import tariffs as tariff_types
from wattgate.operations.types.meters.tariffs import NewTariff
from wattgate.operations.vocabulary.arguments import Id
from wattgate.principal import Principal, Role

log = logging.getLogger(__name__)

APPLICATION_ID = "b0f1b774-a586-4f72-9edd-27ead8aa7a8d"
"""The public application ID that published clients of this interface contain."""

APPLICATION_USERNAME, APPLICATION_SECRET = "demo-app", "demo-secret"
SYSTEM_PRINCIPAL = Principal(Role.SYSTEM, application_id=APPLICATION_ID)

HISTORY = timedelta(days=396)
"""Length of the recorded history: 13 months."""

OUTAGE_AGO, OUTAGE_DURATION = timedelta(days=23, hours=7), timedelta(hours=6)
"""A simulated outage of the meter network, so that the history has a gap: its start before now, and its length."""

BATCH_READINGS = 10_000

DISPLAY_URL = "https://wattgate.example/display"
"""The link in mails of a demonstration that has no address yet."""

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

    @property
    def has_gas(self) -> bool:
        return bool(self.habits.gas_heating)

    @property
    def meter_points(self) -> list[str]:
        """The numbers of the meter points: the MPAN, and the MPRN of a home with gas."""
        number = self.habits.seed
        return [network.mpan(number), *([network.mprn(number)] if self.has_gas else [])]


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
        NEIGHBOUR_USERNAME,
        "5 Mill Court",
        "Leeds",
        "LS1 4AP",
        Habits(seed=37, electricity=5.1),
        ELECTRICITY_CLASSIFIERS,
        demo_tariffs.half_hourly_tariffs,
    ),
    DemoHome(
        "Garden Studio",
        NEIGHBOUR_USERNAME,
        "7 Orchard Lane",
        "Otley",
        "LS21 1DD",
        Habits(seed=53, electricity=3.2),
        ELECTRICITY_CLASSIFIERS,
        demo_tariffs.no_tariffs,
    ),
)


@dataclass(frozen=True, slots=True)
class InstalledHome:
    """A demonstration home in the database, with the IDs of its resources by classifier."""

    home: DemoHome
    resource_ids: dict[str, str]


async def prepare_demo(
    runner: Runner, now: datetime, history: timedelta = HISTORY, *, display_url: str = DISPLAY_URL
) -> int:
    """Add what the demonstration lacks, with all data until now. Return the number of readings recorded.

    It can run again on the same database: a start after an interruption adds only what is missing.
    """
    owners = await install_demo(runner, now, display_url=display_url)
    homes = await list_installed_homes(runner)
    recorded = await fill_readings(runner, homes, now, history)
    await alerts.evaluate_rules(runner, SYSTEM_PRINCIPAL)
    await flexibility.keep_event_open(runner, SYSTEM_PRINCIPAL, owners[NEIGHBOUR_USERNAME], now)
    return recorded


async def install_demo(runner: Runner, now: datetime, *, display_url: str = DISPLAY_URL) -> dict[str, Principal]:
    """Add the records of the demonstration that are missing, without readings. Return its users by username.

    Mails link to `display_url`.
    """
    await _ensure_application(runner)
    owners = await _ensure_users(runner)
    await content.add_content(runner, SYSTEM_PRINCIPAL, owners)
    alert_types = await ensure_alert_types(runner, SYSTEM_PRINCIPAL, display_url, ignore_note)
    type_ids = await _add_homes(runner, owners)
    for username, owner in owners.items():
        points = [point for home in HOMES if home.owner == username for point in home.meter_points]
        await grant_consents(runner, owner, points, now)
        if points:
            await flexibility.enrol(runner, owner, points[0])
    await add_withdrawn_consent(runner, owners[USERNAME], type_ids[ELECTRICITY_CLASSIFIERS[0]], now)
    home = next(home for home in await list_installed_homes(runner) if home.home is HOMES[0])
    resource_id = home.resource_ids[ELECTRICITY_CLASSIFIERS[0]]
    await alerts.add_alert_rule(runner, owners[USERNAME], alert_types[RuleKind.THRESHOLD], resource_id, now)
    await alerts.add_sample_alert(runner, owners[EDITOR_USERNAME], now)
    return owners


async def list_owners(runner: Runner) -> dict[str, Principal]:
    """Return the principals that act for the users of the demonstration, by username."""
    accounts = await runner.run(find_operation("accounts"), SYSTEM_PRINCIPAL, {})
    usernames = {login.username for login in LOGINS}
    return {
        account.username: replace(SYSTEM_PRINCIPAL, user_id=account.user_id)
        for account in accounts
        if account.username in usernames
    }


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
        await _fill_prices(runner, rows, min(starts), now)  # first: after an interruption, `starts` are the same
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
    return recorded


async def _fill_prices(runner: Runner, rows: list[Resource], start: datetime, now: datetime) -> None:
    """Set the prices of dynamic tariffs from `start` until the end of the prices that are known at `now`."""
    for tariff in await runner.load(find_edge(types.Resource, "tariff"), SYSTEM_PRINCIPAL, rows, {}):
        if tariff and tariff.kind is TariffKind.DYNAMIC:
            since, stop = max(start, tariff.valid_from), demo_tariffs.priced_until(now)
            last_price = TimeRange(stop - HALF_HOUR, stop)
            (known,) = await runner.load(
                find_edge(tariff_types.Tariff, "prices"), SYSTEM_PRINCIPAL, [tariff], {"range": last_price}
            )
            if not known:
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


async def _ensure_application(runner: Runner) -> None:
    applications = await runner.list_applications()
    if any(application.application_id == APPLICATION_ID for application in applications):
        return
    new_application = {
        "name": "wattgate demonstration",
        "application_id": APPLICATION_ID,
        "username": APPLICATION_USERNAME,
        "secret": APPLICATION_SECRET,
    }
    await runner.run(provisioning.create_application, SYSTEM_PRINCIPAL, new_application)


async def _ensure_users(runner: Runner) -> dict[str, Principal]:
    """Add the users of all log-ins that are missing. Return the principals that act for them, by username."""
    present = await list_owners(runner)
    for login in LOGINS:
        if login.username not in present:
            new_user = {
                "username": login.username,
                "password": PASSWORD,
                "name": login.name,
                "culture_code": login.culture_code,
                "template_editor": login.template_editor,
            }
            added = await runner.run(provisioning.create_user, SYSTEM_PRINCIPAL, new_user)
            present[login.username] = replace(SYSTEM_PRINCIPAL, user_id=added.user_id)
    return present


async def _add_homes(runner: Runner, owners: Mapping[str, Principal]) -> dict[str, str]:
    """Add the homes that are missing, with their meters, resources, tariffs and displays. Return the resource types.

    A home is added last, so that a home that exists is complete.
    """
    type_ids = {series.classifier: await _ensure_resource_type(runner, series) for series in RESOURCES}
    home_type = await ensure_record(
        runner, SYSTEM_PRINCIPAL, "virtual_entity_types", "add_virtual_entity_type", build_home_type(), "name"
    )
    display_type_id = await network.ensure_display_type(runner, SYSTEM_PRINCIPAL, type_ids)
    present = {home.name for home in await runner.run(virtual_entities.virtual_entities, SYSTEM_PRINCIPAL, {})}
    for home in HOMES:
        if home.name in present:
            continue
        owner, number = owners[home.owner], home.habits.seed
        await network.add_meters(runner, SYSTEM_PRINCIPAL, number, home.postal_code, gas=home.has_gas)
        resource_ids = [
            await _ensure_resource(runner, home, series, owner, type_ids)
            for series in RESOURCES
            if series.classifier in home.classifiers
        ]
        await network.ensure_display(runner, owner, display_type_id, number, gas=home.has_gas)
        await _add_home(runner, home, owner, home_type.ve_type_id, resource_ids)
    return type_ids


async def _ensure_resource_type(runner: Runner, series: Series) -> str:
    new_type = build_resource_type(series, live=series.has_live_power, source="DEMO", description=_describe(series))
    added = await ensure_record(runner, SYSTEM_PRINCIPAL, "resource_types", "add_resource_type", new_type, "classifier")
    return str(added.resource_type_id)


def _describe(series: Series) -> str:
    return f"{series.name} DCC SM profile reads"


def simulated_value(series: Series, half_hour: HalfHour) -> Decimal:
    """Return the reading of a half hour, rounded to the stored decimals."""
    energy = {"GAS": half_hour.gas, "PWER_AEXP": half_hour.exported}.get(series.source, half_hour.imported)
    return round(Decimal(energy), series.decimals)


async def _add_home(
    runner: Runner, home: DemoHome, owner: Principal, ve_type_id: str, resource_ids: Sequence[Id]
) -> None:
    new_home = home_types.NewVirtualEntity(
        ve_type_id=Id(ve_type_id),
        name=home.name,
        resources=[home_types.OwnedResource(resource_id=resource_id) for resource_id in resource_ids],
        postal_code=home.postal_code,
        city=home.city,
        country="GB",
        time_zone="Europe/London",
    )
    entity = await runner.run(virtual_entities.add_virtual_entity, owner, {"input": new_home})
    address = {"address": home.address, "city": home.city, "postcode": home.postal_code, "country": "GB"}
    attributes = {"ve_id": entity.ve_id, "attributes": {"address": address}}
    await runner.run(home_resources.set_virtual_entity_attributes, owner, attributes)


async def _ensure_resource(
    runner: Runner, home: DemoHome, series: Series, owner: Principal, type_ids: Mapping[str, str]
) -> Id:
    """Add a resource of a home, unless it exists, and the tariffs of a resource without any. Return its ID."""
    mpxn = (network.mprn if series.source == "GAS" else network.mpan)(home.habits.seed)
    new_resource = build_resource(series, type_ids[series.classifier], mpxn, _describe(series))
    key = ("resource_type_id", "mpxn")
    resource = await ensure_record(runner, owner, "resources", "add_resource", new_resource, *key)
    new_tariffs = [] if series.is_cost else _tariffs(home, series, resource.resource_id)
    if new_tariffs:
        (present,) = await runner.load(find_edge(types.Resource, "tariffs"), SYSTEM_PRINCIPAL, [resource], {})
        for new_tariff in new_tariffs[len(present) :]:
            await runner.run(tariffs.set_tariff, SYSTEM_PRINCIPAL, {"input": new_tariff})
    return Id(resource.resource_id)


def _tariffs(home: DemoHome, series: Series, resource_id: str) -> list[NewTariff]:
    match series.source:
        case "GAS":
            return demo_tariffs.gas_tariffs(resource_id)
        case "PWER_AEXP":
            return demo_tariffs.export_tariffs(resource_id)
        case _:
            return home.electricity_tariffs(resource_id)


# Consents of the demonstration: one for each meter point of the homes, and one that its user has withdrawn.
#
# The withdrawn consent is that of the flat where the user lived before. Its resource has readings, which are withheld,
# and belongs to no home, so that no home loses its readings.

FORMER_METER_POINT = mpan(2)
"""The meter point of the flat that the user has left."""

FORMER_HABITS = Habits(seed=2, electricity=4.2)
FORMER_HISTORY = timedelta(days=14)
"""The time of the readings of the former flat, until the first start of the demonstration."""

MIN_REMAINING = timedelta(days=180)
"""A start of the demonstration renews consents that end earlier than this."""


async def grant_consents(runner: Runner, owner: Principal, meter_points: Iterable[str], now: datetime) -> None:
    """Verify the owner's consents, and renew those that end soon. A consent that was withdrawn stays so."""
    stored = await _consents_by_meter_point(runner, owner)
    for mpxn in meter_points:
        known = stored.get(mpxn)
        if known is None or not (known.verified or known.revoked_at):
            await runner.run(consent.verify_meter_point, owner, {"mpxn": mpxn})
        elif known.revoked_at is None and known.valid_until < now + MIN_REMAINING:
            await runner.run(consent.renew_consents, owner, {"mpxns": [mpxn]})


async def add_withdrawn_consent(runner: Runner, owner: Principal, type_id: str, now: datetime) -> None:
    """Add the resource of the former flat with its readings, and revoke the consent that the addition recorded."""
    series = RESOURCES[0]
    new_resource = build_resource(series, type_id, FORMER_METER_POINT, "The flat before")
    key = ("resource_type_id", "mpxn")
    resource = await ensure_record(runner, owner, "resources", "add_resource", new_resource, *key)
    known = (await _consents_by_meter_point(runner, owner))[FORMER_METER_POINT]
    if known.revoked_at is not None:
        return
    (last_time,) = await runner.load(find_edge(types.Resource, "last_time"), SYSTEM_PRINCIPAL, [resource], {})
    if last_time is None:
        await _record_former_flat(runner, resource.resource_id, series, now)
    await runner.run(consent.revoke_consents, owner, {"mpxns": [FORMER_METER_POINT]})


async def _record_former_flat(runner: Runner, resource_id: str, series: Series, now: datetime) -> None:
    stop = last_half_hour_end(now)
    at = [stop - FORMER_HISTORY + n * HALF_HOUR for n in range(FORMER_HISTORY // HALF_HOUR)]
    value = [simulated_value(series, simulate_half_hour(FORMER_HABITS, instant)) for instant in at]
    columns = reading_types.NewReadingColumns(resource_id=Id(resource_id), at=at, value=value)
    await runner.run(recording.record_reading_columns, SYSTEM_PRINCIPAL, {"series": [columns]})


async def _consents_by_meter_point(runner: Runner, owner: Principal) -> dict[str, MeterPointConsent]:
    records = await runner.run(consent.consents, owner, {})
    return {record.mpxn: record for record in records if record.user_id == owner.user_id}
