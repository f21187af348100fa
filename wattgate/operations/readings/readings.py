"""Readings of a resource, in buckets."""

from datetime import UTC

from wattgate.db import models
from wattgate.db.queries.series import readings as queries
from wattgate.db.readings.reading_series import ReadingSeries
from wattgate.energy.buckets import MAX_BUCKETS
from wattgate.enums import Weekday
from wattgate.errors import ConsentRevoked, GatewayError
from wattgate.operations.core.operation import Call, OperationKind, RestRoute, operation
from wattgate.operations.types.homes import resources as types
from wattgate.operations.types.meters.readings import SERIES_SIZES
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import STATEMENT_WEIGHT, per_bucket
from wattgate.operations.vocabulary.tags import Tag
from wattgate.principal import Permission
from wattgate.values import terms


@operation(
    OperationKind.QUERY,
    returns=types.ReadingSeries,
    needs=Permission.READINGS_READ,
    rest=RestRoute("GET", "/resource/{resourceId}/readings", Tag.RESOURCES_AND_READINGS),
    raises=(ConsentRevoked,),
    weight=per_bucket(STATEMENT_WEIGHT, max_buckets=MAX_BUCKETS),
    sizes=SERIES_SIZES,
    in_graphql=("resource", "readings"),
)
async def readings(
    call: Call,
    *,
    resource_id: ids.ResourceId,
    range: terms.BucketRange,
    period: terms.BucketLength,
    function: terms.ChosenFunction | None = None,
    time_zone: terms.BucketTimeZone = UTC,
    field: terms.ChosenField | None = None,
    week_start: terms.WeekStart = Weekday.MONDAY,
    revised_since: terms.RevisedSince | None = None,
) -> ReadingSeries:
    """Return a resource's readings in a time range, in whole buckets of the time zone.

    A request may have at most 20,000 buckets.
    """
    (series,) = await queries.readings(
        call.rows,
        [await call.rows.get(models.Resource, resource_id)],
        range=range,
        period=period,
        function=function,
        time_zone=time_zone,
        field=field,
        week_start=week_start,
        revised_since=revised_since,
    )
    if isinstance(series, GatewayError):
        raise series
    return series
