"""Stored readings without aggregation, in pages, and readings of meter registers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from wattgate.clock import format_iso_ms, from_ms, to_ms
from wattgate.db.column_types import SerializedColumn
from wattgate.db.models import Resource
from wattgate.db.queries.consent import find_consent_errors
from wattgate.db.queries.resources import require_open
from wattgate.db.queries.series.readings import newest_register
from wattgate.db.queries.tenancies import storage_bounds
from wattgate.db.readings.reading_store import StoredReading
from wattgate.db.readings.series_keys import require_field, series_key
from wattgate.db.rows.rows import Rows
from wattgate.energy.consent_gaps import StorageBounds
from wattgate.energy.meters import meter_points
from wattgate.energy.storage_fields import QUALITIES, ReadingField
from wattgate.errors import GatewayError, NotSupported
from wattgate.values import terms
from wattgate.values.annotations import Described

PAGE_SIZE = 10_000
"""Maximum readings in a page."""

MAX_TIMESTAMP_MS = 2**62
"""An instant after every reading, in ms since 1970."""


@dataclass(frozen=True, slots=True)
class RawReadingsResult:
    """A page of stored readings of the field `storage`. Columns are computed when they are selected."""

    resource: Resource
    storage: ReadingField
    stored: list[StoredReading]
    next: datetime | None

    @property
    def field(self) -> str:
        return self.storage.name

    @property
    def unit(self) -> str:
        return self.storage.unit

    @property
    def at(self) -> SerializedColumn[str]:
        return SerializedColumn(format_iso_ms(reading.at) for reading in self.stored)

    @property
    def value(self) -> SerializedColumn[float]:
        return SerializedColumn(self.storage.from_stored(reading.value) for reading in self.stored)

    @property
    def quality(self) -> SerializedColumn[str]:
        return SerializedColumn(QUALITIES[reading.quality].value for reading in self.stored)


@dataclass(frozen=True, slots=True)
class MeterReadResult:
    resource: Resource
    at: datetime
    value: float
    unit: str


async def raw_readings(
    rows: Rows,
    resources: Sequence[Resource],
    *,
    start: Annotated[datetime, Described("Start of the range, inclusive. Default: the first reading.")] | None = None,
    end: Annotated[datetime, Described("End of the range, exclusive. Default: the last reading.")] | None = None,
    field: terms.ChosenField | None = None,
) -> list[RawReadingsResult | GatewayError]:
    """Return a page of each resource's stored readings without buckets: at most 10,000, oldest first.

    The readings of a computed cost resource are not stored: its result is NotSupported.
    """
    errors = await find_consent_errors(rows, resources)
    results: list[RawReadingsResult | GatewayError] = []
    for resource in resources:
        if resource.resource_id in errors:
            results.append(errors[resource.resource_id])
            continue
        try:
            results.append(await _raw_page(rows, resource, start, end, field))
        except GatewayError as error:
            results.append(error)
    return results


async def _raw_page(
    rows: Rows, resource: Resource, start: datetime | None, end: datetime | None, field: str | None
) -> RawReadingsResult:
    if resource.cost_of:
        raise NotSupported(
            f"Resource {resource.resource_id} holds computed costs, which are not stored. Query its readings in "
            "buckets."
        )
    reading_field = require_field(resource, field)
    since, until = (to_ms(start) if start else -MAX_TIMESTAMP_MS), (to_ms(end) if end else MAX_TIMESTAMP_MS)
    stored = await rows.readings.list_readings(series_key(resource, reading_field), since, until, limit=PAGE_SIZE + 1)
    next_start = from_ms(stored[PAGE_SIZE].at) if len(stored) > PAGE_SIZE else None
    return RawReadingsResult(resource, reading_field, stored[:PAGE_SIZE], next_start)


async def meter_reads(rows: Rows, resources: Sequence[Resource]) -> list[MeterReadResult | GatewayError]:
    """Return the newest value of the cumulative register of each resource's meter.

    The register is read by the meter network or sent by a display. If both are known, the newer one is returned. One
    from before the household moved in is not returned.
    """
    errors = await find_consent_errors(rows, resources)
    bounds = await storage_bounds(rows, resources)
    results: list[MeterReadResult | GatewayError] = []
    for resource in resources:
        if resource.resource_id in errors:
            results.append(errors[resource.resource_id])
            continue
        try:
            results.append(await _meter_read(rows, resource, bounds[resource.resource_id]))
        except GatewayError as error:
            results.append(error)
    return results


async def _meter_read(rows: Rows, resource: Resource, bounds: StorageBounds) -> MeterReadResult:
    require_open(resource)
    number = meter_points.parse_meter_point_number(resource.mpxn or "")
    read = await rows.network.register(number, resource.classifier) if rows.network and number else None
    if read is not None and (to_ms(read.at) < bounds.since or bounds.is_without_consent(to_ms(read.at))):
        read = None
    registers = [register for register in (read, await newest_register(rows, resource)) if register]
    if not registers:
        raise NotSupported(
            f"The meter network has no register for resource {resource.resource_id} since its household moved in, and "
            "no display has sent one."
        )
    newest = max(registers, key=lambda register: register.at)
    return MeterReadResult(resource, newest.at, float(newest.value), newest.unit)
