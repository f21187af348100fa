"""Stored readings without aggregation, in pages, and readings of meter registers, by the ID of a resource.

GraphQL has them as edges of the resource.
"""

from datetime import datetime
from typing import Annotated

from wattgate.db import models
from wattgate.db.queries.series import raw_readings as queries
from wattgate.errors import Conflict, ConsentRevoked, GatewayError, NotSupported
from wattgate.operations.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.operations.types.homes import resources as types
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import STATEMENT_WEIGHT, ListSize, stored_reading_count
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms
from wattgate.values.annotations import Described

ARROW = "application/vnd.apache.arrow.stream"


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
    weight=stored_reading_count(queries.PAGE_SIZE, weight=STATEMENT_WEIGHT, rows_per_unit=20),
    sizes=[ListSize(stored_reading_count(queries.PAGE_SIZE), ("RawReadings",))],
    in_graphql=("resource", "rawReadings"),
)
async def raw_readings(
    call: Call,
    *,
    resource_id: ids.ResourceId,
    start: Annotated[datetime, Described("Start of the range, inclusive. Default: the first reading.")] | None = None,
    end: Annotated[datetime, Described("End of the range, exclusive. Default: the last reading.")] | None = None,
    field: terms.ChosenField | None = None,
) -> queries.RawReadingsResult:
    """Return a page of a resource's stored readings without buckets: at most 10,000, oldest first.

    Readings of a computed cost resource are available only in buckets.
    """
    resource = await call.rows.get(models.Resource, resource_id)
    (page,) = await queries.raw_readings(call.rows, [resource], start=start, end=end, field=field)
    if isinstance(page, GatewayError):
        raise page
    return page


@operation(
    OperationKind.QUERY,
    returns=types.MeterRead,
    needs=Permission.READINGS_READ,
    rest=RestRoute("GET", "/resource/{resourceId}/meterread", Tag.RESOURCES_AND_READINGS),
    raises=(ConsentRevoked, NotSupported, Conflict),
    in_graphql=("resource", "meterRead"),
)
async def meter_read(call: Call, *, resource_id: ids.ResourceId) -> queries.MeterReadResult:
    """Return the newest value of the cumulative register of a resource's meter.

    The register is read by the meter network or sent by a display. If both are known, the newer one is returned. One
    from before the household moved in is not returned.
    """
    (read,) = await queries.meter_reads(call.rows, [await call.rows.get(models.Resource, resource_id)])
    if isinstance(read, GatewayError):
        raise read
    return read
