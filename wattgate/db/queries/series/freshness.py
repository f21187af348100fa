"""The freshness of resources and devices: one result for each, with a fixed number of statements."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Annotated

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db.models import Device, Intake, Resource
from wattgate.db.queries import devices as device_queries
from wattgate.db.queries.consent import find_consent_errors, replace_withheld
from wattgate.db.queries.resources import load_measured_resources
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.readings.series_keys import require_field, resource_number
from wattgate.db.rows.rows import Rows
from wattgate.energy.freshness import (
    DEVICE_REPORT_INTERVAL_MS,
    INTAKE_HEARTBEAT_INTERVAL_MS,
    FeedingDevice,
    Freshness,
    FreshnessSnapshot,
    Heartbeat,
    HeartbeatsByField,
    IntakeStatus,
    Receipt,
    learn_interval,
    learning_sample_count,
    learning_window_ms,
    sample_end,
)
from wattgate.energy.storage_fields import ReadingField, parse_fields
from wattgate.enums import FreshnessState
from wattgate.errors import GatewayError
from wattgate.values import terms
from wattgate.values.annotations import Described

INTAKE_EXPIRY = timedelta(days=7)
"""An intake without a heartbeat for this long is ignored."""


async def resource_freshness(
    rows: Rows,
    resources: Sequence[Resource],
    *,
    field: Annotated[
        terms.Text100,
        Described("Name of the storage field, such as ENERGY. Default: the field with the most frequent readings."),
    ]
    | None = None,
) -> list[Freshness | GatewayError]:
    """Return the freshness of each resource, by one field or by all.

    A resource with `cost_of` has the freshness of that other resource.
    """
    now = to_ms(rows.now)
    sources = await load_measured_resources(rows, resources)
    fields = [None if field is None else require_field(source, field) for source in sources]
    snapshot = FreshnessSnapshot(await _load_heartbeats(rows, sources))
    late_resources = {
        source.resource_id: source
        for source, reading_field in zip(sources, fields, strict=True)
        if snapshot.resource_heartbeat(source.resource_id, reading_field, now).state(now) is not FreshnessState.LIVE
    }
    await _add_feeding_devices(rows, snapshot, list(late_resources.values()))
    results = [
        snapshot.resource_freshness(source.resource_id, reading_field, now)
        for source, reading_field in zip(sources, fields, strict=True)
    ]
    return replace_withheld(await find_consent_errors(rows, [*resources, *sources]), resources, results)


async def device_freshness(rows: Rows, devices: Sequence[Device]) -> list[Freshness | GatewayError]:
    """Return the freshness of each device, by its last message. It is withheld as the status of the device is."""
    consents = await device_queries.check_device_consents(rows, devices, await device_queries.resources(rows, devices))
    snapshot = await load_device_snapshot(rows, devices, without=consents.withheld)
    return [
        consents.errors.get(device.device_id) or snapshot.device_freshness(device.device_id, to_ms(rows.now))
        for device in devices
    ]


async def load_snapshot(rows: Rows, resources: Sequence[Resource]) -> FreshnessSnapshot:
    """Load the heartbeats of metered resources, of the devices that feed them, and of the devices' other resources."""
    snapshot = FreshnessSnapshot(await _load_heartbeats(rows, resources))
    await _add_feeding_devices(rows, snapshot, resources)
    return snapshot


async def load_device_snapshot(
    rows: Rows, devices: Sequence[Device], *, without: Collection[str] = ()
) -> FreshnessSnapshot:
    """Load the heartbeats of devices and of the resources that they feed, except for those with the ids `without`."""
    snapshot = FreshnessSnapshot({})
    await _add_devices(rows, snapshot, devices, without=without)
    return snapshot


async def _add_feeding_devices(rows: Rows, snapshot: FreshnessSnapshot, resources: Sequence[Resource]) -> None:
    """Add the devices that feed these resources to a snapshot."""
    if not resources:
        return
    feeding_devices = await device_queries.devices_of_resources(rows, resources)
    for resource, device in zip(resources, feeding_devices, strict=True):
        if device is not None:
            snapshot.device_by_resource[resource.resource_id] = device.device_id
    await _add_devices(
        rows, snapshot, list({device.device_id: device for device in feeding_devices if device is not None}.values())
    )


async def _add_devices(
    rows: Rows, snapshot: FreshnessSnapshot, devices: Sequence[Device], *, without: Collection[str] = ()
) -> None:
    """Add devices, their resources and the active intakes to a snapshot."""
    if not devices:
        return
    active_intakes = await rows.all(Intake, col(Intake.heard_at) > rows.now - INTAKE_EXPIRY)
    for resource in active_intakes:
        snapshot.intakes[resource.name] = IntakeStatus(
            Heartbeat(to_ms(resource.heard_at), INTAKE_HEARTBEAT_INTERVAL_MS), resource.connected
        )
    resources_by_device = [
        [resource for resource in resources if resource.resource_id not in without]
        for resources in await device_queries.resources(rows, devices)
    ]
    resources_by_id = {resource.resource_id: resource for resources in resources_by_device for resource in resources}
    snapshot.heartbeats |= await _load_heartbeats(
        rows, [resource for resource in resources_by_id.values() if resource.resource_id not in snapshot.heartbeats]
    )
    for device, resources in zip(devices, resources_by_device, strict=True):
        heartbeat = Heartbeat(None if device.heard_at is None else to_ms(device.heard_at), DEVICE_REPORT_INTERVAL_MS)
        snapshot.devices[device.device_id] = FeedingDevice(
            heartbeat, tuple(resource.resource_id for resource in resources)
        )


async def _load_heartbeats(rows: Rows, resources: Sequence[Resource]) -> dict[str, HeartbeatsByField]:
    """Load the heartbeat of each field of each resource."""
    fields: dict[SeriesKey, ReadingField] = {
        (resource_number(resource), field.index): field
        for resource in resources
        for field in parse_fields(resource.storage)
    }
    latest = await rows.readings.latest(list(fields), until=to_ms(rows.now))
    series_by_count: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for key, newest in latest.items():
        series_by_count[learning_sample_count(fields[key])].append((*key, newest.at - learning_window_ms(fields[key])))
    receipts: dict[SeriesKey, list[Receipt]] = {}
    for count, series in series_by_count.items():
        receipts |= await rows.readings.receipts(series, count)

    def heartbeat(key: SeriesKey) -> Heartbeat:
        newest = latest.get(key)
        interval = learn_interval(fields[key], receipts.get(key, ()))
        return Heartbeat(None if newest is None else sample_end(fields[key], newest.at), interval)

    return {
        resource.resource_id: {
            field: heartbeat((resource_number(resource), field.index)) for field in parse_fields(resource.storage)
        }
        for resource in resources
    }
