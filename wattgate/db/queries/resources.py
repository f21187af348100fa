"""Batch loaders from resources: one result for each resource, with one statement for all."""

from collections.abc import Sequence
from datetime import datetime

from wattgate.clock import from_ms
from wattgate.db.models import Resource, ResourceType
from wattgate.db.queries.consent import find_consent_errors, replace_withheld
from wattgate.db.queries.ownership import load_with_sources
from wattgate.db.readings.reading_store import StoredReading
from wattgate.db.readings.series_keys import resource_number
from wattgate.db.rows.rows import Rows
from wattgate.errors import Conflict, GatewayError


async def types(rows: Rows, resources: Sequence[Resource]) -> list[ResourceType]:
    """Return the type of each resource."""
    types_by_id = await rows.get_many(ResourceType, (resource.resource_type_id for resource in resources))
    return [types_by_id[resource.resource_type_id] for resource in resources]


async def first_times(rows: Rows, resources: Sequence[Resource]) -> list[datetime | GatewayError | None]:
    """Return the time of the first reading of each resource's first field."""
    sources = await load_measured_resources(rows, resources)
    earliest = await rows.readings.earliest([(resource_number(source), 0) for source in sources])
    errors = await find_consent_errors(rows, [*resources, *sources])
    return replace_withheld(errors, resources, _reading_times(sources, earliest))


async def last_times(rows: Rows, resources: Sequence[Resource]) -> list[datetime | GatewayError | None]:
    """Return the time of the newest reading of each resource's first field."""
    sources = await load_measured_resources(rows, resources)
    latest = await rows.readings.latest([(resource_number(source), 0) for source in sources])
    errors = await find_consent_errors(rows, [*resources, *sources])
    return replace_withheld(errors, resources, _reading_times(sources, latest))


async def load_measured_resources(rows: Rows, resources: Sequence[Resource]) -> list[Resource]:
    """Replace each resource with `cost_of` by that other resource, whose readings are stored."""
    loaded = await load_with_sources(rows, resources)
    return [loaded[resource.cost_of or resource.resource_id] for resource in resources]


def _reading_times(
    resources: Sequence[Resource], readings_by_key: dict[tuple[int, int], StoredReading]
) -> list[datetime | None]:
    readings = [readings_by_key.get((resource_number(resource), 0)) for resource in resources]
    return [None if reading is None else from_ms(reading.at) for reading in readings]


def require_open(resource: Resource) -> None:
    """Raise Conflict if a resource is closed, so that nobody queries the network about its meter point."""
    if not resource.active:
        raise Conflict(
            f"Resource {resource.resource_id} is closed. Its stored readings stay available; no new ones are retrieved."
        )
