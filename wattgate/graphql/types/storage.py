"""GraphQL types of the storage of a resource type."""

import strawberry

from wattgate.graphql.core.fields import list_field


@strawberry.type(description="One measured quantity of a resource type.")
class StorageField:
    field_name: str
    unit: str
    datatype: str
    negative: bool


@strawberry.type(description="How the readings of a resource type are sampled and stored.")
class StorageDefinition:
    type: str = strawberry.field(description="Type of storage: always timeseries.")
    sampling: str
    start: str = strawberry.field(description="First instant that can be stored, in ISO 8601 with a UTC offset.")
    interval: str | None = strawberry.field(
        description="Interval of regular sampling, counted from `start`, as an ISO 8601 duration. Null means PT30M."
    )
    fields: list[StorageField] = list_field(2)
