"""How fresh resources and devices are: one result for each, a fixed number of statements for all."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db.models import Device, Intake, Resource
from wattgate.db.queries import devices as device_queries
from wattgate.db.queries.consent import find_consent_errors, replace_withheld
from wattgate.db.queries.resources import load_measured_resources
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.readings.series_keys import require_field, resource_number
from wattgate.db.rows import Rows
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

INTAKE_EXPIRY = timedelta(days=7)
"""An intake without a sign of life for so long is no longer expected to give one."""


async def resource_freshness(
    rows: Rows, resources: Sequence[Resource], *, field: str | None = None
) -> list[Freshness | GatewayError]:
    """How fresh each resource is, by one field or by all. One that tells a cost is as fresh as its consumption."""
    now = to_ms(rows.now)
    sources = await load_measured_resources(rows, resources)
    fields = [None if field is None else require_field(source, field) for source in sources]
    seen = FreshnessSnapshot(await _load_heartbeats(rows, sources))
    late = {
        source.resource_id: source
        for source, known in zip(sources, fields, strict=True)
        if seen.resource_heartbeat(source.resource_id, known, now).state(now) is not FreshnessState.LIVE
    }
    await _add_feeding_devices(rows, seen, list(late.values()))
    answers = [
        seen.resource_freshness(source.resource_id, known, now) for source, known in zip(sources, fields, strict=True)
    ]
    return replace_withheld(await find_consent_errors(rows, resources), resources, answers)


async def device_freshness(rows: Rows, devices: Sequence[Device]) -> list[Freshness]:
    """How fresh the last sign of each device is."""
    seen = await load_device_snapshot(rows, devices)
    return [seen.device_freshness(device.device_id, to_ms(rows.now)) for device in devices]


async def load_snapshot(rows: Rows, resources: Sequence[Resource]) -> FreshnessSnapshot:
    """All that is known of resources which are measured, of their devices, and of what else these feed."""
    seen = FreshnessSnapshot(await _load_heartbeats(rows, resources))
    await _add_feeding_devices(rows, seen, resources)
    return seen


async def load_device_snapshot(rows: Rows, devices: Sequence[Device]) -> FreshnessSnapshot:
    """All that is known of devices and of what they feed."""
    seen = FreshnessSnapshot({})
    await _add_devices(rows, seen, devices)
    return seen


async def _add_feeding_devices(rows: Rows, snapshot: FreshnessSnapshot, resources: Sequence[Resource]) -> None:
    """Complete the picture of resources by the devices that feed them."""
    if not resources:
        return
    senders = await device_queries.devices_of_resources(rows, resources)
    for resource, device in zip(resources, senders, strict=True):
        if device is not None:
            snapshot.device_by_resource[resource.resource_id] = device.device_id
    await _add_devices(rows, snapshot, list({one.device_id: one for one in senders if one is not None}.values()))


async def _add_devices(rows: Rows, snapshot: FreshnessSnapshot, devices: Sequence[Device]) -> None:
    """Complete a picture by devices, and by all that they feed."""
    if not devices:
        return
    heard = await rows.all(Intake, col(Intake.heard_at) > rows.now - INTAKE_EXPIRY)
    for one in heard:
        snapshot.intakes[one.name] = IntakeStatus(
            Heartbeat(to_ms(one.heard_at), INTAKE_HEARTBEAT_INTERVAL_MS), one.connected
        )
    fed = await device_queries.resources(rows, devices)
    known = {resource.resource_id: resource for some in fed for resource in some}
    snapshot.heartbeats |= await _load_heartbeats(
        rows, [one for one in known.values() if one.resource_id not in snapshot.heartbeats]
    )
    for device, some in zip(devices, fed, strict=True):
        said = Heartbeat(None if device.heard_at is None else to_ms(device.heard_at), DEVICE_REPORT_INTERVAL_MS)
        snapshot.devices[device.device_id] = FeedingDevice(said, tuple(one.resource_id for one in some))


async def _load_heartbeats(rows: Rows, resources: Sequence[Resource]) -> dict[str, HeartbeatsByField]:
    """What is known of each field of each resource."""
    fields: dict[SeriesKey, ReadingField] = {
        (resource_number(resource), field.index): field
        for resource in resources
        for field in parse_fields(resource.storage)
    }
    latest = await rows.readings.latest(list(fields))
    by_depth: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for key, newest in latest.items():
        by_depth[learning_sample_count(fields[key])].append((*key, newest.at - learning_window_ms(fields[key])))
    received: dict[SeriesKey, list[Receipt]] = {}
    for count, some in by_depth.items():
        received |= await rows.readings.receipts(some, count)

    def pulse(key: SeriesKey) -> Heartbeat:
        newest = latest.get(key)
        every = learn_interval(fields[key], received.get(key, ()))
        return Heartbeat(None if newest is None else sample_end(fields[key], newest.at), every)

    return {
        resource.resource_id: {
            field: pulse((resource_number(resource), field.index)) for field in parse_fields(resource.storage)
        }
        for resource in resources
    }
