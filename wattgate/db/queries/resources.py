"""Batch loaders from resources: one result for each resource, with one statement for all."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Resource, ResourceType
from wattgate.db.queries.consent import find_consent_errors, replace_withheld
from wattgate.db.readings.reading_store import StoredReading
from wattgate.db.readings.series_keys import resource_number, series_key
from wattgate.db.rows import Rows
from wattgate.energy.storage_fields import POWER_FIELD, ReadingField, find_field, parse_fields

MAX_POWER_AGE_MS = 15 * 60 * 1000
"""An older power reading is not the current power."""


class CurrentReading(msgspec.Struct, gc=False):
    """The newest value of a resource, with its field, unit and instant."""

    resource_id: str
    field: str
    unit: str
    at: datetime
    value: float


async def types(rows: Rows, resources: Sequence[Resource]) -> list[ResourceType]:
    """Return the type of each resource."""
    types_by_id = await rows.get_many(ResourceType, (resource.resource_type_id for resource in resources))
    return [types_by_id[resource.resource_type_id] for resource in resources]


async def current_readings(rows: Rows, resources: Sequence[Resource]) -> list[CurrentReading | None]:
    """Return the newest reading of each resource: its power if that is fresh, else the latest value of its first field.

    For a resource with `cost_of`, return the reading of that other resource: the cost of the moment is unknown.
    """
    sources = await load_measured_resources(rows, resources)
    fields = [parse_fields(source.storage) for source in sources]
    keys = [
        series_key(source, field)
        for source, storage_fields in zip(sources, fields, strict=True)
        for field in _current_fields(storage_fields)
    ]
    latest = await rows.readings.latest(keys)
    fresh_from = to_ms(rows.now) - MAX_POWER_AGE_MS
    newest = [
        _newest_reading(source, storage_fields, latest, fresh_from)
        for source, storage_fields in zip(sources, fields, strict=True)
    ]
    return replace_withheld(await find_consent_errors(rows, resources), resources, newest)


async def first_times(rows: Rows, resources: Sequence[Resource]) -> list[datetime | None]:
    """Return the time of the first reading of each resource's first field."""
    sources = await load_measured_resources(rows, resources)
    return _reading_times(sources, await rows.readings.earliest([(resource_number(source), 0) for source in sources]))


async def last_times(rows: Rows, resources: Sequence[Resource]) -> list[datetime | None]:
    """Return the time of the newest reading of each resource's first field."""
    sources = await load_measured_resources(rows, resources)
    return _reading_times(sources, await rows.readings.latest([(resource_number(source), 0) for source in sources]))


async def load_measured_resources(rows: Rows, resources: Sequence[Resource]) -> list[Resource]:
    """Replace each resource with `cost_of` by that other resource, whose readings are stored."""
    measured_ids = {resource.cost_of for resource in resources if resource.cost_of}
    measured_resources = await rows.get_many(Resource, measured_ids) if measured_ids else {}
    return [measured_resources[resource.cost_of] if resource.cost_of else resource for resource in resources]


def _current_fields(fields: tuple[ReadingField, ...]) -> list[ReadingField]:
    power = find_field(fields, POWER_FIELD)
    return [power, fields[0]] if power else [fields[0]]


def _newest_reading(
    resource: Resource, fields: tuple[ReadingField, ...], latest: dict[tuple[int, int], StoredReading], fresh_from: int
) -> CurrentReading | None:
    for field in _current_fields(fields):
        stored = latest.get(series_key(resource, field))
        if stored and (field.name != POWER_FIELD or stored.at >= fresh_from):
            return CurrentReading(
                resource_id=resource.resource_id,
                field=field.name,
                unit=field.unit,
                at=from_ms(stored.at),
                value=field.from_stored(stored.value),
            )
    return None


def _reading_times(
    resources: Sequence[Resource], readings_by_key: dict[tuple[int, int], StoredReading]
) -> list[datetime | None]:
    readings = [readings_by_key.get((resource_number(resource), 0)) for resource in resources]
    return [None if reading is None else from_ms(reading.at) for reading in readings]
