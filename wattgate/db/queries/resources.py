"""Set-wise loaders from resources: one result for each parent, one statement for all."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from wattgate.clock import from_ms, to_ms
from wattgate.db.models import Resource, ResourceType
from wattgate.db.queries.consent import either, withheld
from wattgate.db.readings.series import Stored
from wattgate.db.readings.series_keys import key_of, number_of
from wattgate.db.rows import Rows
from wattgate.energy.storage_fields import POWER_FIELD, Field, field_named, fields_of

POWER_AGE_MS = 15 * 60 * 1000
"""A power reading older than this is no longer what is drawn now."""


class CurrentReading(msgspec.Struct, gc=False):
    """The newest value of a resource and what it measures."""

    resource_id: str
    field: str
    unit: str
    at: datetime
    value: float


async def types(rows: Rows, resources: Sequence[Resource]) -> list[ResourceType]:
    """The type of each resource."""
    found = await rows.many(ResourceType, (resource.resource_type_id for resource in resources))
    return [found[resource.resource_type_id] for resource in resources]


async def current(rows: Rows, resources: Sequence[Resource]) -> list[CurrentReading | None]:
    """The newest reading of each resource: its power where that is fresh, else its first field's latest value.

    A resource that tells a cost answers what its consumption does: nothing is known of the cost of this moment.
    """
    sources = await measured(rows, resources)
    fields = [fields_of(source.storage) for source in sources]
    wanted = [
        key_of(source, field) for source, known in zip(sources, fields, strict=True) for field in _shown_now(known)
    ]
    found = await rows.series.latest(wanted)
    fresh = to_ms(rows.now) - POWER_AGE_MS
    newest = [_newest(source, known, found, fresh) for source, known in zip(sources, fields, strict=True)]
    return either(await withheld(rows, resources), resources, newest)


async def first_times(rows: Rows, resources: Sequence[Resource]) -> list[datetime | None]:
    """The time of the first available reading of each resource's first field."""
    sources = await measured(rows, resources)
    return _times(sources, await rows.series.earliest([(number_of(source), 0) for source in sources]))


async def last_times(rows: Rows, resources: Sequence[Resource]) -> list[datetime | None]:
    """The time of the most recent reading of each resource's first field."""
    sources = await measured(rows, resources)
    return _times(sources, await rows.series.latest([(number_of(source), 0) for source in sources]))


async def measured(rows: Rows, resources: Sequence[Resource]) -> list[Resource]:
    """The resources whose readings are stored: of those that tell a cost, the ones whose cost it is."""
    wanted = {resource.cost_of for resource in resources if resource.cost_of}
    known = await rows.many(Resource, wanted) if wanted else {}
    return [known[resource.cost_of] if resource.cost_of else resource for resource in resources]


def _shown_now(fields: tuple[Field, ...]) -> list[Field]:
    power = field_named(fields, POWER_FIELD)
    return [power, fields[0]] if power else [fields[0]]


def _newest(
    resource: Resource, fields: tuple[Field, ...], found: dict[tuple[int, int], Stored], fresh: int
) -> CurrentReading | None:
    for field in _shown_now(fields):
        stored = found.get(key_of(resource, field))
        if stored and (field.name != POWER_FIELD or stored.at >= fresh):
            return CurrentReading(
                resource_id=resource.resource_id,
                field=field.name,
                unit=field.unit,
                at=from_ms(stored.at),
                value=field.number(stored.value),
            )
    return None


def _times(resources: Sequence[Resource], found: dict[tuple[int, int], Stored]) -> list[datetime | None]:
    stored = [found.get((number_of(resource), 0)) for resource in resources]
    return [None if one is None else from_ms(one.at) for one in stored]
