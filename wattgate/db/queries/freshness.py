"""How fresh resources and devices are: one result for each, a fixed number of statements for all."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wattgate.clock import to_ms
from wattgate.db.aggregates import SeriesKey
from wattgate.db.freshness import (
    SAYS_EVERY,
    Freshness,
    Pulse,
    as_of,
    cadence,
    collected,
    depth,
    freshest,
    telling,
    told,
)
from wattgate.db.models import Device, Resource
from wattgate.db.queries import devices as device_queries
from wattgate.db.queries.consent import either, withheld
from wattgate.db.queries.readings import field_of, number_of
from wattgate.db.queries.resources import measured
from wattgate.db.rows import Rows
from wattgate.db.series import Receipt
from wattgate.db.storage import Field, fields_of
from wattgate.errors import GatewayError
from wattgate.names import FreshnessCause, FreshnessState

Pulses = Mapping[Field, Pulse]
"""By field of a resource, what is known of it."""


class Signs(NamedTuple):
    """A device's signs of life. `alone`: it speaks through one meter only, so that nobody can tell who is silent."""

    pulses: list[Pulse]
    alone: bool


TALKS = (FreshnessState.LIVE, FreshnessState.DELAYED)


async def of_resources(
    rows: Rows, resources: Sequence[Resource], *, field: str | None = None
) -> list[Freshness | GatewayError]:
    """How fresh each resource is, by one field or by all. One that tells a cost is as fresh as its consumption."""
    sources = await measured(rows, resources)
    now = to_ms(rows.now)
    found = [
        telling(known.values(), now) if field is None else known[field_of(source, field)]
        for source, known in zip(sources, await pulses(rows, sources), strict=True)
    ]
    late = {
        source.resource_id: source
        for source, pulse in zip(sources, found, strict=True)
        if pulse.state(now) is not FreshnessState.LIVE
    }
    causes = dict(zip(late, await _causes(rows, list(late.values())), strict=True)) if late else {}
    answers = [
        told(pulse, now, causes.get(source.resource_id, FreshnessCause.UNKNOWN))
        for source, pulse in zip(sources, found, strict=True)
    ]
    return either(await withheld(rows, resources), resources, answers)


async def of_devices(rows: Rows, devices: Sequence[Device]) -> list[Freshness]:
    """How fresh the last sign of each device is. What never gave one is OFFLINE, and nobody knows why."""
    now = to_ms(rows.now)
    found = [freshest(signs.pulses, now) for signs in await _signs(rows, devices)]
    return [
        told(pulse, now, FreshnessCause.UNKNOWN if pulse.as_of is None else FreshnessCause.GATEWAY) for pulse in found
    ]


async def pulses(rows: Rows, resources: Sequence[Resource]) -> list[Pulses]:
    """What is known of each field of each resource."""
    fields: dict[SeriesKey, Field] = {
        (number_of(resource), field.index): field for resource in resources for field in fields_of(resource.storage)
    }
    latest = await rows.series.latest(list(fields))
    by_depth: dict[int, list[SeriesKey]] = defaultdict(list)
    for key in latest:
        by_depth[depth(fields[key])].append(key)
    received: dict[SeriesKey, list[Receipt]] = {}
    for count, keys in by_depth.items():
        received |= await rows.series.receipts(keys, count)

    def pulse(number: int, field: Field) -> Pulse:
        newest = latest.get((number, field.index))
        every = cadence(field, received.get((number, field.index), ()))
        return Pulse(None if newest is None else as_of(field, newest.at), every)

    return [
        {field: pulse(number_of(resource), field) for field in fields_of(resource.storage)} for resource in resources
    ]


async def _signs(rows: Rows, devices: Sequence[Device]) -> list[Signs]:
    """The signs of each device: what it said of itself and its live readings, or all where there is none of these."""
    fed = await device_queries.resources(rows, devices)
    known = {resource.resource_id: resource for some in fed for resource in some}
    found = dict(zip(known, await pulses(rows, list(known.values())), strict=True))
    return [
        _signs_of(device, [found[resource.resource_id] for resource in some])
        for device, some in zip(devices, fed, strict=True)
    ]


def _signs_of(device: Device, resources: Sequence[Pulses]) -> Signs:
    said = Pulse(None if device.heard_at is None else to_ms(device.heard_at), SAYS_EVERY)
    every = [said, *(pulse for known in resources for pulse in known.values())]
    live = [said, *(pulse for known in resources for field, pulse in known.items() if not collected(field))]
    meters = sum(any(pulse.as_of is not None for pulse in known.values()) for known in resources)
    alone = device.heard_at is None and meters < 2
    return Signs(live if any(pulse.as_of is not None for pulse in live) else every, alone)


async def _causes(rows: Rows, resources: Sequence[Resource]) -> list[FreshnessCause]:
    """What keeps the readings of each resource away: its meter where its device still talks, else the device."""
    devices = await device_queries.of_resources(rows, resources)
    present = {device.device_id: device for device in devices if device is not None}
    signs = dict(zip(present, await _signs(rows, list(present.values())), strict=True)) if present else {}
    now = to_ms(rows.now)
    return [FreshnessCause.UNKNOWN if device is None else _cause(signs[device.device_id], now) for device in devices]


def _cause(signs: Signs, now: int) -> FreshnessCause:
    if freshest(signs.pulses, now).state(now) in TALKS:
        return FreshnessCause.METER
    return FreshnessCause.UNKNOWN if signs.alone else FreshnessCause.GATEWAY
