"""GraphQL types of the storage of a resource type."""

import strawberry

from wattgate.operations.core.fields import list_field
from wattgate.values import terms


@strawberry.type(description="One measured quantity of a resource type.")
class StorageField:
    field_name: terms.FieldName
    unit: terms.Unit
    datatype: terms.Datatype
    negative: terms.AllowsNegative


@strawberry.type(description="How the readings of a resource type are sampled and stored.")
class StorageDefinition:
    type: str = strawberry.field(description="Type of storage: always timeseries.")
    sampling: terms.Sampling
    start: terms.StorageStart
    interval: str | None = strawberry.field(
        description="Interval of regular sampling, counted from `start`, as an ISO 8601 duration. Null means PT30M."
    )
    fields: list[StorageField] = list_field(2, description="Measured quantities of a reading.")
