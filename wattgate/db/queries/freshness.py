"""How fresh resources and devices are: one result for each, a fixed number of statements for all."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta

from sqlmodel import col

from wattgate.clock import to_ms
from wattgate.db.models import Device, Intake, Resource
from wattgate.db.queries import devices as device_queries
from wattgate.db.queries.consent import either, withheld
from wattgate.db.queries.resources import measured
from wattgate.db.readings.aggregates import SeriesKey
from wattgate.db.readings.series_keys import field_of, number_of
from wattgate.db.rows import Rows
from wattgate.energy.freshness import (
    INTAKE_EVERY,
    SAYS_EVERY,
    Freshness,
    Inlet,
    Picture,
    Pulse,
    Pulses,
    Receipt,
    Sender,
    as_of,
    cadence,
    depth,
    reach,
)
from wattgate.energy.storage_fields import Field, fields_of
from wattgate.enums import FreshnessState
from wattgate.errors import GatewayError

FORGOTTEN = timedelta(days=7)
"""An intake without a sign of life for so long is no longer expected to give one."""


async def of_resources(
    rows: Rows, resources: Sequence[Resource], *, field: str | None = None
) -> list[Freshness | GatewayError]:
    """How fresh each resource is, by one field or by all. One that tells a cost is as fresh as its consumption."""
    now = to_ms(rows.now)
    sources = await measured(rows, resources)
    fields = [None if field is None else field_of(source, field) for source in sources]
    seen = Picture(await _pulses(rows, sources))
    late = {
        source.resource_id: source
        for source, known in zip(sources, fields, strict=True)
        if seen.pulse(source.resource_id, known, now).state(now) is not FreshnessState.LIVE
    }
    await _look_at_senders(rows, seen, list(late.values()))
    answers = [seen.resource(source.resource_id, known, now) for source, known in zip(sources, fields, strict=True)]
    return either(await withheld(rows, resources), resources, answers)


async def of_devices(rows: Rows, devices: Sequence[Device]) -> list[Freshness]:
    """How fresh the last sign of each device is."""
    seen = await picture_of_devices(rows, devices)
    return [seen.device(device.device_id, to_ms(rows.now)) for device in devices]


async def picture(rows: Rows, resources: Sequence[Resource]) -> Picture:
    """All that is known of resources which are measured, of their devices, and of what else these feed."""
    seen = Picture(await _pulses(rows, resources))
    await _look_at_senders(rows, seen, resources)
    return seen


async def picture_of_devices(rows: Rows, devices: Sequence[Device]) -> Picture:
    """All that is known of devices and of what they feed."""
    seen = Picture({})
    await _look_at(rows, seen, devices)
    return seen


async def _look_at_senders(rows: Rows, seen: Picture, resources: Sequence[Resource]) -> None:
    """Complete the picture of resources by the devices that feed them."""
    if not resources:
        return
    senders = await device_queries.of_resources(rows, resources)
    for resource, device in zip(resources, senders, strict=True):
        if device is not None:
            seen.sender_of[resource.resource_id] = device.device_id
    await _look_at(rows, seen, list({one.device_id: one for one in senders if one is not None}.values()))


async def _look_at(rows: Rows, seen: Picture, devices: Sequence[Device]) -> None:
    """Complete a picture by devices, and by all that they feed."""
    if not devices:
        return
    heard = await rows.all(Intake, col(Intake.heard_at) > rows.now - FORGOTTEN)
    for one in heard:
        seen.intakes[one.name] = Inlet(Pulse(to_ms(one.heard_at), INTAKE_EVERY), one.connected)
    fed = await device_queries.resources(rows, devices)
    known = {resource.resource_id: resource for some in fed for resource in some}
    seen.pulses |= await _pulses(rows, [one for one in known.values() if one.resource_id not in seen.pulses])
    for device, some in zip(devices, fed, strict=True):
        said = Pulse(None if device.heard_at is None else to_ms(device.heard_at), SAYS_EVERY)
        seen.senders[device.device_id] = Sender(said, tuple(one.resource_id for one in some))


async def _pulses(rows: Rows, resources: Sequence[Resource]) -> dict[str, Pulses]:
    """What is known of each field of each resource."""
    fields: dict[SeriesKey, Field] = {
        (number_of(resource), field.index): field for resource in resources for field in fields_of(resource.storage)
    }
    latest = await rows.series.latest(list(fields))
    by_depth: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for key, newest in latest.items():
        by_depth[depth(fields[key])].append((*key, newest.at - reach(fields[key])))
    received: dict[SeriesKey, list[Receipt]] = {}
    for count, some in by_depth.items():
        received |= await rows.series.receipts(some, count)

    def pulse(key: SeriesKey) -> Pulse:
        newest = latest.get(key)
        every = cadence(fields[key], received.get(key, ()))
        return Pulse(None if newest is None else as_of(fields[key], newest.at), every)

    return {
        resource.resource_id: {
            field: pulse((number_of(resource), field.index)) for field in fields_of(resource.storage)
        }
        for resource in resources
    }
