"""Stored readings without aggregation, in pages, and readings of meter registers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from wattgate.clock import format_iso_ms, from_ms, to_ms
from wattgate.db import models
from wattgate.db.column_types import SerializedColumn
from wattgate.db.queries.series.readings import newest_register
from wattgate.db.queries.tenancies import storage_bounds
from wattgate.db.readings.reading_store import StoredReading
from wattgate.db.readings.series_keys import require_field, series_key
from wattgate.energy.meters import meter_points
from wattgate.energy.storage_fields import QUALITIES, ReadingField
from wattgate.errors import Conflict, ConsentRevoked, NotSupported
from wattgate.operations.consent.consent_records import require_consent
from wattgate.operations.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.operations.readings.reading_targets import require_open
from wattgate.operations.types.homes import resources as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import STATEMENT_WEIGHT, ListSize, stored_reading_count
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described

ARROW = "application/vnd.apache.arrow.stream"
PAGE_SIZE = 10_000
"""Maximum readings in a page."""

MAX_TIMESTAMP_MS = 2**62
"""An instant after every reading, in ms since 1970."""


@dataclass(frozen=True, slots=True)
class RawReadingsResult:
    """A page of stored readings of the field `storage`. Columns are computed when they are selected."""

    resource: models.Resource
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
    resource: models.Resource
    at: datetime
    value: float
    unit: str


@operation(
    OperationKind.QUERY,
    returns=types.RawReadings,
    needs=Permission.READINGS_READ,
    rest=(
        RestRoute("GET", "/resource/{resourceId}/platformbinary", Tag.RESOURCES_AND_READINGS, media_type=ARROW),
        RestRoute("GET", "/resource/{resourceId}/glowbinary", Tag.RESOURCES_AND_READINGS, media_type=ARROW),
        RestRoute("GET", "/resource/{resourceId}/readings", Tag.RESOURCES_AND_READINGS, media_type=ARROW),
    ),
    raises=(ConsentRevoked, NotSupported),
    weight=stored_reading_count(PAGE_SIZE, weight=STATEMENT_WEIGHT, rows_per_unit=20),
    sizes=[ListSize(stored_reading_count(PAGE_SIZE), ("RawReadings",))],
)
async def raw_readings(
    call: Call,
    *,
    resource_id: ids.ResourceId,
    start: Annotated[datetime, Described("Start of the range, inclusive. Default: the first reading.")] | None = None,
    end: Annotated[datetime, Described("End of the range, exclusive. Default: the last reading.")] | None = None,
    field: terms.ChosenField | None = None,
) -> RawReadingsResult:
    """Return a page of a resource's stored readings without buckets: at most 10,000, oldest first.

    Readings of a computed cost resource are available only in buckets.
    """
    resource = await call.rows.get(models.Resource, resource_id)
    await require_consent(call.rows, [resource])
    if resource.cost_of:
        raise NotSupported(
            f"Resource {resource_id} holds computed costs, which are not stored. Query its readings in buckets."
        )
    reading_field = require_field(resource, field)
    since, until = (to_ms(start) if start else -MAX_TIMESTAMP_MS), (to_ms(end) if end else MAX_TIMESTAMP_MS)
    stored = await call.rows.readings.list_readings(
        series_key(resource, reading_field), since, until, limit=PAGE_SIZE + 1
    )
    next_start = from_ms(stored[PAGE_SIZE].at) if len(stored) > PAGE_SIZE else None
    return RawReadingsResult(resource, reading_field, stored[:PAGE_SIZE], next_start)


@operation(
    OperationKind.QUERY,
    returns=types.MeterRead,
    needs=Permission.READINGS_READ,
    rest=RestRoute("GET", "/resource/{resourceId}/meterread", Tag.RESOURCES_AND_READINGS),
    raises=(ConsentRevoked, NotSupported, Conflict),
)
async def meter_read(call: Call, *, resource_id: ids.ResourceId) -> MeterReadResult:
    """Return the newest value of the cumulative register of a resource's meter.

    The register is read by the meter network or sent by a display. If both are known, the newer one is returned. One
    from before the household moved in is not returned.
    """
    resource = await call.rows.get(models.Resource, resource_id)
    await require_consent(call.rows, [resource])
    require_open(resource)
    number = meter_points.parse_meter_point_number(resource.mpxn or "")
    read = await call.network.register(number, resource.classifier) if number else None
    bounds = (await storage_bounds(call.rows, [resource]))[resource.resource_id]
    if read is not None and (to_ms(read.at) < bounds.since or bounds.is_without_consent(to_ms(read.at))):
        read = None
    registers = [register for register in (read, await newest_register(call.rows, resource)) if register]
    if not registers:
        raise NotSupported(
            f"The meter network has no register for resource {resource_id} since its household moved in, and no "
            "display has sent one."
        )
    newest = max(registers, key=lambda register: register.at)
    return MeterReadResult(resource, newest.at, float(newest.value), newest.unit)
