"""GraphQL types of stored readings without aggregation, and of readings of meter registers."""

from datetime import datetime

import strawberry

from wattgate.enums import ReadingQuality
from wattgate.operations.types.homes.resources import Resource
from wattgate.values import terms


@strawberry.type(description="Cumulative register of a meter, as the network last read it or a display last sent it.")
class MeterRead:
    resource: Resource = strawberry.field(description=terms.RESOURCE)
    at: terms.ReadingInstant
    value: terms.MeasuredValue
    unit: terms.Unit


@strawberry.type(
    description="Stored readings of one storage field, as columns of equal length. Items at the same position form one "
    "reading."
)
class RawReadings:
    resource: Resource = strawberry.field(description=terms.RESOURCE)
    field: terms.Field
    unit: terms.Unit
    at: list[datetime] = strawberry.field(description="Instants of the readings, oldest first.")
    value: list[float] = strawberry.field(description="Measured values.")
    quality: list[ReadingQuality] = strawberry.field(description="Qualities of the readings.")
    next: datetime | None = strawberry.field(description="Value for `start` of the next page. Null on the last page.")
