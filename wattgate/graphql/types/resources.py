"""Resources (metered data series), their types and readings."""

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import Any

import strawberry

from wattgate.db import models
from wattgate.db.queries import costs as cost_queries
from wattgate.db.queries import devices as device_queries
from wattgate.db.queries import resources as queries
from wattgate.db.queries import tariffs as tariff_queries
from wattgate.db.rows import Rows
from wattgate.graphql.fields import edge
from wattgate.graphql.types.devices import CatchUp, DeviceProtocol, DeviceStatus, DeviceType, HardwareIds
from wattgate.graphql.types.ranges import TimeRange
from wattgate.graphql.types.scalars import Json
from wattgate.graphql.types.tariffs import CostBucket, CostExplanation, CurrentRates, Tariff
from wattgate.names import Function, Period
from wattgate.principal import Permission

strawberry.enum(Function, description="How the readings of a bucket become one value.")


@strawberry.type(description="One measured quantity of a storage definition.")
class StorageField:
    field_name: str
    unit: str
    datatype: str = strawberry.field(description="fixedpoint(n) with n decimal places, or integer.")
    negative: bool = strawberry.field(description="Whether negative values are allowed.")


@strawberry.type(description="How readings are stored.")
class StorageDefinition:
    type: str = strawberry.field(description="timeseries.")
    sampling: str = strawberry.field(description="regular (on a grid) or irregular (at any time).")
    start: str = strawberry.field(description="The first instant that is stored, with its UTC offset.")
    interval: str | None = strawberry.field(
        description="The grid of regular sampling, counted from start; PT30M where it is null."
    )
    fields: list[StorageField]


@strawberry.type(description="A kind of resource: what is measured and how it is stored.")
class ResourceType:
    resource_type_id: strawberry.ID
    name: str
    classifier: str = strawberry.field(description="Dotted category, such as electricity.consumption.")
    storage: list[StorageDefinition]
    description: str
    data_source_type: str
    data_source_resource_type_info: Json | None
    label: str
    base_unit: str
    active: bool


@strawberry.input(description="One measured quantity of a storage definition.")
class NewStorageField:
    field_name: str
    unit: str
    datatype: str
    negative: bool = False


@strawberry.input(description="How readings are to be stored.")
class NewStorageDefinition:
    type: str
    sampling: str
    start: str
    fields: list[NewStorageField]
    interval: str | None = None


@strawberry.input(description="A kind of resource to add.")
class NewResourceType:
    name: str
    classifier: str
    storage: list[NewStorageDefinition]
    description: str = ""
    data_source_type: str = ""
    data_source_resource_type_info: Json | None = None
    label: str = ""
    base_unit: str | None = strawberry.field(
        default=strawberry.UNSET, description="The first field's unit where it is left out."
    )


@strawberry.type(description="The newest value of a resource, and what it measures.")
class CurrentReading:
    resource_id: strawberry.ID
    field: str
    unit: str
    at: datetime
    value: float


@strawberry.type(description="One span of a series.")
class Bucket:
    start: datetime = strawberry.field(description="The first instant of the span.")
    end: datetime = strawberry.field(description="The first instant after the span.")
    value: float | None = strawberry.field(description="null where nothing is stored for the span: not zero.")
    count: int = strawberry.field(description="How many readings the value is made of.")


@strawberry.type(description="Readings of one field of a resource, in buckets of one period.")
class ReadingSeries:
    resource: "Resource"
    field: str
    unit: str
    period: Period
    function: Function
    buckets: list[Bucket] = strawberry.field(
        description="Every bucket that shares time with the range, empty ones too."
    )


# The edges of costs take a range as it is asked for; an open one ends at the present instant.
async def _cost(rows: Rows, resources: Sequence[models.Resource], *, range: TimeRange) -> list[Any]:
    return list(await cost_queries.explained(rows, resources, start=range.start, end=range.end or rows.now))


async def _costs(
    rows: Rows, resources: Sequence[models.Resource], *, range: TimeRange, period: Period, time_zone: tzinfo = UTC
) -> list[Any]:
    end = range.end or rows.now
    return list(
        await cost_queries.series(rows, resources, start=range.start, end=end, period=period, time_zone=time_zone)
    )


@strawberry.type(description="What a resource's energy costs, in buckets of one period. Amounts are in pence with VAT.")
class CostSeries:
    resource: "Resource"
    period: Period
    currency: str
    buckets: list[CostBucket] = strawberry.field(
        description="Every bucket that shares time with the range, empty ones too."
    )


@strawberry.type(description="A metered data series of one owner.")
class Resource:
    resource_id: strawberry.ID
    resource_type_id: strawberry.ID
    owner_id: strawberry.ID = strawberry.field(description="The user whose data this is.")
    name: str
    description: str
    label: str
    classifier: str
    base_unit: str
    data_source_type: str
    data_source_resource_type_info: Json | None
    data_source_unit_info: Json | None
    mpxn: str | None = strawberry.field(description="The meter point it is measured at: an MPAN or MPRN, if known.")
    cost_of: strawberry.ID | None = strawberry.field(
        description="The resource whose energy's cost this one tells: computed from its readings and its tariff."
    )
    active: bool
    created_at: datetime
    updated_at: datetime
    type: ResourceType = edge(
        queries.types, needs=Permission.RESOURCE_TYPE_READ, description="The kind of resource this is."
    )
    current: CurrentReading | None = edge(
        queries.current,
        needs=Permission.READINGS_READ,
        description="The newest reading: power while that is fresh, else the latest stored value.",
    )
    first_time: datetime | None = edge(
        queries.first_times, needs=Permission.READINGS_READ, description="When the first reading was taken."
    )
    last_time: datetime | None = edge(
        queries.last_times, needs=Permission.READINGS_READ, description="When the last reading was taken."
    )
    tariff: Tariff | None = edge(
        tariff_queries.in_force, needs=Permission.RESOURCE_READ, description="The tariff that applies now, if known."
    )
    current_rates: CurrentRates | None = edge(
        cost_queries.current_rates,
        needs=Permission.RESOURCE_READ,
        description="What its energy costs at this moment, with VAT; null where no tariff is known.",
    )
    readings: ReadingSeries = edge(
        queries.readings,
        needs=Permission.READINGS_READ,
        description="Readings from start to before end, in buckets of the zone's wall clock.",
    )
    tariffs: list[Tariff] = edge(
        tariff_queries.histories,
        needs=Permission.RESOURCE_READ,
        description="Every tariff that applied until now, newest first.",
    )
    cost: CostExplanation | None = edge(
        _cost,
        needs=Permission.READINGS_READ,
        description="What its energy in a range costs, line by line; null where no tariff is known for the range.",
    )
    costs: "CostSeries | None" = edge(
        _costs,
        needs=Permission.READINGS_READ,
        description="What its energy costs in buckets of the zone's wall clock; null where no tariff is known.",
    )
    device: "Device | None" = edge(
        device_queries.of_resources, needs=Permission.DEVICE_READ, description="The device that feeds it, if known."
    )
    catch_ups: list[CatchUp] = edge(
        device_queries.catch_ups,
        needs=Permission.CATCH_UP,
        description="The retrievals of its readings from the meter network, newest first.",
    )


@strawberry.type(description="A device in a home that sends packets to the platform.")
class Device:
    device_id: strawberry.ID
    device_type_id: strawberry.ID
    owner_id: strawberry.ID = strawberry.field(description="The user whose device this is.")
    description: str
    active: bool
    hardware_id: str = strawberry.field(description="What it is found by, usually its MAC.")
    hardware_ids: HardwareIds
    parent_hardware_id: list[str]
    tags: list[str]
    created_at: datetime
    updated_at: datetime
    type: DeviceType = edge(
        device_queries.types, needs=Permission.DEVICE_TYPE_READ, description="The kind of device this is."
    )
    protocol: DeviceProtocol = edge(
        device_queries.protocols, needs=Permission.DEVICE_READ, description="How it talks to the platform."
    )
    status: DeviceStatus = edge(
        device_queries.statuses, needs=Permission.DEVICE_READ, description="Whether it sends packets."
    )
    resources: list[Resource] = edge(
        device_queries.resources, needs=Permission.RESOURCE_READ, description="The resources that its sensors feed."
    )


@strawberry.type(description="The resources that are measured at a meter point.")
class MeterPointResources:
    valid: bool = strawberry.field(description="Whether there are any; true in every answer.")
    mpxn: str = strawberry.field(description="The meter point: an MPAN or MPRN.")
    resources: list[Resource]


@strawberry.type(description="What the cumulative register of a resource's meter showed when it was last read.")
class MeterRead:
    resource: Resource
    at: datetime
    value: float
    unit: str


@strawberry.type(description="Stored readings of one field of a resource, in columns: equal places belong together.")
class RawReadings:
    resource: Resource
    field: str
    unit: str
    at: list[datetime]
    value: list[float]
    next: datetime | None = strawberry.field(description="Where the next page starts; null on the last one.")


@strawberry.type(description="What became of a wish to retrieve a resource's latest readings.")
class StartedCatchUp:
    resource: Resource
    started: bool = strawberry.field(
        description="Whether this call started it; false where the half hour has one already."
    )
    catch_up: CatchUp


@strawberry.input(description="A resource to add.")
class NewResource:
    resource_type_id: strawberry.ID
    name: str
    description: str = ""
    label: str = ""
    data_source_resource_type_info: Json | None = None
    data_source_unit_info: Json | None = None
    mpxn: str | None = strawberry.field(default=None, description="The meter point: an MPAN (13 digits) or MPRN.")
    cost_of: strawberry.ID | None = strawberry.field(
        default=strawberry.UNSET,
        description="The resource whose energy's cost it tells. Where it is left out and the classifier ends in "
        ".cost, the user's only active resource of the classifier before that, at the same meter point. null where "
        "costs are to be recorded.",
    )


@strawberry.input(description="One value of a series.")
class NewReading:
    at: datetime
    value: Decimal


@strawberry.input(description="Readings of one field of a resource.")
class NewReadings:
    resource_id: strawberry.ID
    readings: list[NewReading]
    field: str | None = strawberry.field(default=None, description="The resource's first field where it is left out.")


@strawberry.type(description="What became of readings that were sent.")
class Recorded:
    recorded: int = strawberry.field(description="How many readings are stored now; sent again they replace.")


@strawberry.type(description="A reading, as it was recorded.")
class LiveReading:
    resource_id: strawberry.ID
    field: str
    unit: str
    at: datetime
    value: float
