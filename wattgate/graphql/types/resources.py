"""Resources (metered data series), their types and readings."""

from datetime import datetime, tzinfo

import strawberry

from wattgate.db.queries import comparisons as comparison_queries
from wattgate.db.queries import costs as cost_queries
from wattgate.db.queries import devices as device_queries
from wattgate.db.queries import freshness as freshness_queries
from wattgate.db.queries import readings as reading_queries
from wattgate.db.queries import resources as queries
from wattgate.db.queries import tariffs as tariff_queries
from wattgate.db.queries.time_ranges import MAX_BUCKETS
from wattgate.db.readings.reading_series import MAX_OBJECTS
from wattgate.enums import Baseline, BucketQuality, Function, Period, ReadingQuality
from wattgate.graphql.core.cost_weights import FRESHNESS, IN_SERIES, Size, bucket_count, per_bucket, per_day
from wattgate.graphql.core.fields import edge, listed
from wattgate.graphql.core.scalars import Json
from wattgate.graphql.types.devices import CatchUp, DeviceProtocol, DeviceStatus, DeviceType, HardwareIds, NetworkState
from wattgate.graphql.types.freshness import Freshness
from wattgate.graphql.types.readings import Bucket, BucketColumns, SeriesPart
from wattgate.graphql.types.tariffs import CostBucket, CostExplanation, CurrentRates, Tariff
from wattgate.principal import Permission

SERIES_SIZES = (
    Size(bucket_count(MAX_OBJECTS), ("ReadingSeries.buckets",), per_unit=IN_SERIES),
    Size(bucket_count(MAX_BUCKETS), ("BucketColumns",)),
)
"""How long the lists of a series are, by its range and period."""


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
    fields: list[StorageField] = listed(2)


@strawberry.type(description="A kind of resource: what is measured and how it is stored.")
class ResourceType:
    resource_type_id: strawberry.ID
    name: str
    classifier: str = strawberry.field(description="Dotted category, such as electricity.consumption.")
    storage: list[StorageDefinition] = listed(2)
    description: str
    data_source_type: str
    data_source_resource_type_info: Json | None
    label: str
    base_unit: str
    retention_days: int | None = strawberry.field(
        description="After how many days readings are deleted; null where they are kept."
    )
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
    retention_days: int | None = strawberry.field(
        default=None, description="After how many days readings are deleted; kept where it is left out."
    )


@strawberry.type(description="The newest value of a resource, and what it measures.")
class CurrentReading:
    resource_id: strawberry.ID
    field: str
    unit: str
    at: datetime
    value: float


@strawberry.type(description="Readings of one field of a resource, in buckets of one period.")
class ReadingSeries:
    resource: "Resource"
    field: str
    unit: str
    period: Period
    function: Function
    time_zone: tzinfo
    start: datetime = strawberry.field(description="The first instant that was asked for.")
    end: datetime | None = strawberry.field(
        description="The first instant that was no longer asked for; null where the range is open."
    )
    buckets: list[Bucket] = strawberry.field(
        description="Every bucket that shares time with the range, empty ones too; at most 2,000, more as columns."
    )
    columns: BucketColumns = strawberry.field(description="The same buckets as columns; at most 20,000.")
    total: float | None = strawberry.field(description="The sum of all readings; null where there is none.")
    mean: float | None = strawberry.field(description="The mean of all readings; null where there is none.")
    highest: Bucket | None = strawberry.field(description="The bucket with the greatest value, the first of several.")
    lowest: Bucket | None = strawberry.field(description="The bucket with the least value, the first of several.")
    count: int = strawberry.field(description="How many readings there are.")
    completeness: float | None = strawberry.field(
        description="The share of all samples that are there, those to come included; null where sampling is irregular."
    )
    quality: BucketQuality
    revision: int = strawberry.field(description="How often readings were replaced by other values.")
    collected_to: datetime | None = strawberry.field(
        description="The end of the newest sample: nothing later has come in. Null where there is none."
    )
    as_of: datetime = strawberry.field(
        description="What to give as `revisedSince` next time: a minute before the answer, so that nothing is missed."
    )
    comparison: "Comparison | None" = edge(
        comparison_queries.comparisons,
        needs=Permission.READINGS_READ,
        weight=20,
        description="The series as far as it has come, beside the same elapsed time of a baseline; null where there is "
        "no reading yet. An open range that begins a month or a day is compared as that month or day so far.",
    )
    complete_to: datetime | None = edge(
        reading_queries.complete_to,
        needs=Permission.READINGS_READ,
        weight=3,
        description="Up to when no sample is missing since the first bucket began; null where already the first one "
        "is, where no sample is to be taken in the range, and where sampling is irregular.",
    )


@strawberry.type(description="A series as far as it has come, beside the same elapsed time of an earlier one.")
class Comparison:
    baseline: Baseline
    current: SeriesPart = strawberry.field(description="The range up to the series' newest sample.")
    previous: SeriesPart = strawberry.field(
        description="The same elapsed time, by the wall clock, of the baseline: of whole months the months before, of "
        "whole days the days before, else the span just before; a year back is twelve months, of whole weeks 52 weeks."
    )
    change: float | None = strawberry.field(description="By how much the value is greater now.")
    change_ratio: float | None = strawberry.field(
        description="The change as a share of the earlier value; null where that is zero or not known."
    )
    series: ReadingSeries = edge(
        comparison_queries.baseline_series,
        needs=Permission.READINGS_READ,
        weight=250,
        description="The whole baseline, in buckets of the same period.",
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
    freshness: Freshness = edge(
        freshness_queries.of_resources,
        needs=Permission.READINGS_READ,
        weight=FRESHNESS,
        description="How fresh its readings are: those of `field`, else those that come most often.",
    )
    first_time: datetime | None = edge(
        queries.first_times, needs=Permission.READINGS_READ, description="When the first reading was taken."
    )
    last_time: datetime | None = edge(
        queries.last_times, needs=Permission.READINGS_READ, description="When the last reading was taken."
    )
    tariff: Tariff | None = edge(
        tariff_queries.in_force,
        needs=Permission.RESOURCE_READ,
        weight=3,
        description="The tariff that applies now, if known.",
    )
    current_rates: CurrentRates | None = edge(
        cost_queries.current_rates,
        needs=Permission.RESOURCE_READ,
        weight=4,
        description="What its energy costs at this moment, with VAT; null where no tariff is known.",
    )
    readings: ReadingSeries = edge(
        reading_queries.readings,
        needs=Permission.READINGS_READ,
        weight=per_bucket(2, most=MAX_BUCKETS),
        sizes=SERIES_SIZES,
        description="Readings in a range of time, in whole buckets of the zone's wall clock.",
    )
    tariffs: list[Tariff] = edge(
        tariff_queries.histories,
        needs=Permission.RESOURCE_READ,
        weight=2,
        sizes=[Size(5)],
        description="Every tariff that applied until now, newest first.",
    )
    cost: CostExplanation | None = edge(
        cost_queries.explained,
        needs=Permission.READINGS_READ,
        weight=per_day(15, 10, most=cost_queries.MAX_RANGE),
        description="What its energy in a range costs, line by line; null where no tariff is known for the range.",
    )
    costs: "CostSeries | None" = edge(
        cost_queries.series,
        needs=Permission.READINGS_READ,
        weight=per_day(15, 10, most=cost_queries.MAX_RANGE),
        sizes=[Size(bucket_count(MAX_BUCKETS), ("CostSeries.buckets",), per_unit=5)],
        description="What its energy costs in buckets of the zone's wall clock; null where no tariff is known.",
    )
    device: "Device | None" = edge(
        device_queries.of_resources,
        needs=Permission.DEVICE_READ,
        weight=2,
        description="The device that feeds it, if known.",
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
        device_queries.statuses, needs=Permission.DEVICE_READ, weight=4, description="Whether it sends packets."
    )
    freshness: Freshness = edge(
        freshness_queries.of_devices,
        needs=Permission.DEVICE_READ,
        weight=FRESHNESS,
        description="How fresh the last sign of it is: a live reading, or what it said of itself.",
    )
    network_state: NetworkState | None = edge(
        device_queries.network_states,
        needs=Permission.DEVICE_READ,
        description="What it said of itself, where it ever did.",
    )
    resources: list[Resource] = edge(
        device_queries.resources,
        needs=Permission.RESOURCE_READ,
        sizes=[Size(5)],
        description="The resources that its sensors feed.",
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
    quality: list[ReadingQuality]
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
