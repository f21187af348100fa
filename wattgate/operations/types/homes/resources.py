"""GraphQL types of resources (metered data series), resource types, series of readings and devices."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, ClassVar

import strawberry
from sqlmodel import col

from wattgate.db import models
from wattgate.db.queries import consent as consent_queries
from wattgate.db.queries import devices as device_queries
from wattgate.db.queries import resources as queries
from wattgate.db.queries.series import comparisons as comparison_queries
from wattgate.db.queries.series import costs as cost_queries
from wattgate.db.queries.series import current_readings as current_queries
from wattgate.db.queries.series import freshness as freshness_queries
from wattgate.db.queries.series import price_windows as price_queries
from wattgate.db.queries.series import raw_readings as raw_queries
from wattgate.db.queries.series import readings as reading_queries
from wattgate.db.queries.series import standby as standby_queries
from wattgate.db.queries.series import tariffs as tariff_queries
from wattgate.energy.buckets import MAX_BUCKETS
from wattgate.enums import BucketQuality, DeviceProof, EnergyUnit, NoValueReason, ReadingQuality
from wattgate.operations.core.fields import edge, list_field
from wattgate.operations.core.pagination import Connection, ListFilter, connection_edge, filter_input
from wattgate.operations.types.consent import MeterPointConsent, WithheldData, consents_of_resources
from wattgate.operations.types.identity.accounts import owner_edge
from wattgate.operations.types.meters import devices as device_types
from wattgate.operations.types.meters import readings as reading_types
from wattgate.operations.types.meters.readings import (
    SERIES_SIZES,
    VALUE_FIELDS,
    Bucket,
    BucketColumns,
    CurrentReading,
    Freshness,
    SeriesPart,
)
from wattgate.operations.types.meters.standby import Standby
from wattgate.operations.types.meters.tariffs import (
    CheapestWindow,
    CostBucket,
    CostExplanation,
    CurrentRates,
    PriceSpan,
    Tariff,
    units_of_spans,
)
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.arguments import UNSET
from wattgate.operations.vocabulary.cost_weights import (
    FRESHNESS_WEIGHT,
    SERIES_ITEMS_PER_UNIT,
    STATEMENT_WEIGHT,
    ListSize,
    bucket_count,
    cost_days,
    per_bucket,
    per_day,
    sample_count,
    stored_reading_count,
)
from wattgate.operations.vocabulary.node import Node
from wattgate.operations.vocabulary.scalars import SeriesCurrency, SourceTypeInfo, SourceUnitInfo
from wattgate.principal import Permission
from wattgate.values import terms

# GraphQL types of the storage of a resource type.

PRICE_INTERVAL = timedelta(hours=1)
"""The length of a span of prices that the estimated size of a curve assumes."""

PRICE_CURVE_WEIGHT = per_day(4, 8, max_length=price_queries.MAX_RANGE)
PRICE_CURVE_COUNT = sample_count(PRICE_INTERVAL, price_queries.MAX_RANGE // PRICE_INTERVAL)
CHEAPEST_WINDOW_WEIGHT = 150
"""Cost of the prices of a resource, their number, and the cost of a search in them."""

STANDBY_WEIGHT = 300
"""Cost of the standby power: the hours of 28 days, and their rates."""


@filter_input("Filter of a list of resources.")
class ResourceFilter(ListFilter):
    resource_type_id: strawberry.ID | None = strawberry.field(default=UNSET, description="ID of the resource type.")
    classifier: terms.Text200 | None = strawberry.field(
        default=UNSET, description="Measured quantity, such as electricity.consumption."
    )


@filter_input("Filter of a list of resource types.")
class ResourceTypeFilter(ListFilter):
    classifier: terms.Text200 | None = strawberry.field(
        default=UNSET, description="Measured quantity, such as electricity.consumption."
    )


@filter_input("Filter of a list of devices.")
class DeviceFilter(ListFilter):
    hardware_id: terms.Text200 | None = strawberry.field(
        default=UNSET, description="Hardware ID, MAC address, EUI or serial number, in any spelling."
    )

    special: ClassVar[Mapping[str, Callable[[Any], Any]]] = MappingProxyType({"hardware_id": device_queries.has_any_id})


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
        description="Interval of regular sampling, counted from `start`, as an ISO 8601 duration. Null means PT30M, or "
        "that a learned interval is not known yet."
    )
    fields: list[StorageField] = list_field(2, description="Measured quantities of a reading.")


# GraphQL types of resources (metered data series), resource types, series of readings and devices.


@strawberry.input(description="One measured quantity of a resource type.")
class NewStorageField:
    field_name: terms.FieldName
    unit: terms.Unit
    datatype: terms.Datatype
    negative: terms.AllowsNegative = False


@strawberry.input(description="Storage definition of a new resource type.")
class NewStorageDefinition:
    type: terms.Text100 = strawberry.field(description="Type of storage. Only timeseries is valid.")
    sampling: terms.Sampling
    start: terms.StorageStart
    fields: list[NewStorageField] = strawberry.field(description="Measured quantities of a reading.")
    interval: terms.Text100 | None = strawberry.field(
        default=None,
        description="Interval of regular sampling, counted from `start`, as an ISO 8601 duration. Default: PT30M.",
    )


@strawberry.input(description="Resource type to add.")
class NewResourceType:
    name: terms.Name
    classifier: terms.Classifier
    storage: list[NewStorageDefinition] = strawberry.field(description="How readings are stored.")
    description: terms.Description = ""
    data_source_type: terms.DataSourceType = ""
    data_source_resource_type_info: SourceTypeInfo | None = None
    label: terms.Label = ""
    base_unit: terms.Text100 | None = strawberry.field(
        default=strawberry.UNSET, description="Unit of the resource type. Default: the unit of the first storage field."
    )
    retention_days: int | None = strawberry.field(
        default=None, description="Age in days at which readings are deleted. Default: readings are kept forever."
    )


@strawberry.type(description="Readings of one storage field of a resource, in buckets of one period.")
class ReadingSeries:
    resource: "Resource" = strawberry.field(description=terms.RESOURCE)
    field: terms.Field
    unit: terms.Unit
    period: terms.BucketLength
    function: terms.BucketFunction
    time_zone: terms.BucketTimeZone
    start: datetime = strawberry.field(description="Start of the requested range, inclusive.")
    end: datetime | None = strawberry.field(
        description="End of the requested range, exclusive. Null if the range has no end."
    )
    buckets: list[Bucket] = strawberry.field(
        description="All buckets that overlap the range, with the empty ones. At most 2,000; use `columns` for more."
    )
    columns: BucketColumns = strawberry.field(description="The same buckets as columns. At most 20,000.")
    total: float | None = strawberry.field(
        description="Sum of all readings. Null if there are none, and for power and cumulative registers."
    )
    includes_standing_charge: bool | None = strawberry.field(description=reading_types.INCLUDES_STANDING_CHARGE)
    includes_vat: bool | None = strawberry.field(description=reading_types.INCLUDES_VAT)
    no_value_reason: NoValueReason | None = strawberry.field(
        description="Why `total` is null: no readings, or for costs no tariff or price. Null if there is a total."
    )
    mean: float | None = strawberry.field(description="Arithmetic mean of all readings. Null if there are none.")
    highest: Bucket | None = strawberry.field(
        description="Bucket with the greatest value, or the first of several. Null if all buckets are empty."
    )
    lowest: Bucket | None = strawberry.field(
        description="Bucket with the smallest value, or the first of several. Null if all buckets are empty."
    )
    count: int = strawberry.field(description="Number of readings.")
    completeness: float | None = strawberry.field(
        description="Share (0 to 1) of all samples that are stored. Future samples count as not stored. Null if "
        "sampling is irregular."
    )
    quality: BucketQuality = strawberry.field(description="Quality of the whole series.")
    revision: int = strawberry.field(description="Number that grows when readings are replaced or withdrawn.")
    collected_to: datetime | None = strawberry.field(
        description="End of the newest stored sample. Null if there is none."
    )
    as_of: datetime = strawberry.field(
        description="Value for `revisedSince` of the next request. It is one minute before the response, so that no "
        "revision is missed."
    )
    comparison: "Comparison | None" = edge(
        comparison_queries.comparisons,
        needs=Permission.READINGS_READ,
        weight=20,
        description="Comparison of the series up to its newest sample with the same elapsed time of a baseline. Null "
        "if there is no reading; then `noValueReason` of the series says why. "
        "A range without end that starts a month or a day counts as that month or day so far.",
    )
    complete_to: datetime | None = edge(
        reading_queries.complete_to,
        needs=Permission.READINGS_READ,
        weight=3,
        description="Instant up to which no sample is missing since the start of the first bucket. Null if the first "
        "sample is missing, if the range has no samples, or if sampling is irregular.",
    )


@strawberry.type(description="Comparison of a series with the same elapsed time of an earlier range, the baseline.")
class Comparison:
    baseline: terms.ComparedRange
    current: SeriesPart = strawberry.field(description="The series from its start up to its newest sample.")
    previous: SeriesPart = strawberry.field(
        description="The baseline over the same elapsed wall-clock time. For PREVIOUS_PERIOD, whole months are "
        "compared with the months before, whole days with the days before, and other ranges with the time directly "
        "before. One year before is twelve months, or 52 weeks for whole weeks."
    )
    baseline_is_shorter: bool = strawberry.field(
        description="Whether the baseline ends before the same elapsed time, so that `previous` is all of it: 29 March "
        "has no counterpart in February."
    )
    change: float | None = strawberry.field(
        description="Current value minus previous value, in the unit of the series. Null if one of them is null."
    )
    change_ratio: float | None = strawberry.field(
        description="Change divided by the previous value. Null if the previous value is zero or null."
    )
    includes_standing_charge: bool | None = strawberry.field(description=reading_types.INCLUDES_STANDING_CHARGE)
    includes_vat: bool | None = strawberry.field(description=reading_types.INCLUDES_VAT)
    series: ReadingSeries = edge(
        comparison_queries.baseline_series,
        needs=Permission.READINGS_READ,
        weight=250,
        description="The whole baseline, in buckets of the same period. Null only with an error, such as "
        "CONSENT_REVOKED.",
    )


@strawberry.type(description="Cost of a resource's energy in buckets of one period, with VAT.")
class CostSeries:
    resource: "Resource" = strawberry.field(description=terms.RESOURCE)
    period: terms.BucketLength
    currency: SeriesCurrency
    unit: EnergyUnit = strawberry.field(description="Unit of the energy without a price.")
    buckets: list[CostBucket] = strawberry.field(description="All buckets that overlap the range, with the empty ones.")


@strawberry.type(description="Metered data series of one owner, such as the electricity consumption of a home.")
class Resource(Node, model=models.Resource):
    resource_id: ids.ResourceId
    application_id: ids.ApplicationId
    resource_type_id: ids.ResourceTypeId
    owner_id: strawberry.ID = strawberry.field(description="ID of the user who owns the resource.")
    name: terms.Name
    description: terms.Description
    label: terms.Label
    classifier: terms.Classifier
    base_unit: terms.BaseUnit
    data_source_type: terms.DataSourceType
    data_source_resource_type_info: SourceTypeInfo | None
    data_source_unit_info: SourceUnitInfo | None
    mpxn: str | None = strawberry.field(
        description="Number of the meter point: an MPAN (electricity) or an MPRN (gas). Null if not known."
    )
    cost_of: strawberry.ID | None = strawberry.field(
        description="ID of the resource whose cost this resource has, computed from its readings and tariff. Null for "
        "a measured resource."
    )
    active: terms.Active
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    withheld: WithheldData | None = edge(
        consent_queries.withheld_data,
        needs=Permission.RESOURCE_READ,
        description="Why readings, costs and other data are withheld: there is no valid consent for the meter point. "
        "Null if they may be read.",
    )
    type: "ResourceType" = edge(queries.types, needs=Permission.RESOURCE_TYPE_READ, description="The resource type.")
    current: CurrentReading | None = edge(
        current_queries.current_readings,
        needs=Permission.READINGS_READ,
        description="Newest reading: the power if it is at most 15 minutes old, otherwise the newest value of the "
        "first field. For a resource with `costOf`: what an hour costs at the present power and rate, in pence/hour "
        "or in the currency of the tariff. Null if there is none; `noCurrentReason` says why.",
    )
    no_current_reason: NoValueReason | None = edge(
        current_queries.no_current_reasons,
        needs=Permission.READINGS_READ,
        description="Why `current` is null. Null if there is a current value.",
    )
    freshness: Freshness = edge(
        freshness_queries.resource_freshness,
        needs=Permission.READINGS_READ,
        weight=FRESHNESS_WEIGHT,
        description="Freshness of the readings of one storage field. Null only with an error, such as CONSENT_REVOKED.",
    )
    first_time: datetime | None = edge(
        queries.first_times,
        needs=Permission.READINGS_READ,
        description="Instant of the first reading. Null if there is none.",
    )
    last_time: datetime | None = edge(
        queries.last_times,
        needs=Permission.READINGS_READ,
        description="Instant of the last reading. Null if there is none.",
    )
    tariff: Tariff | None = edge(
        tariff_queries.current_tariffs,
        needs=Permission.RESOURCE_READ,
        weight=3,
        description="Tariff in force now. Null if none is known.",
    )
    current_rates: CurrentRates | None = edge(
        current_queries.current_rates,
        needs=Permission.RESOURCE_READ,
        weight=4,
        description="Present rates. Null if no tariff is known.",
    )
    price_curve: list[PriceSpan] = edge(
        price_queries.price_curves,
        needs=Permission.RESOURCE_READ,
        weight=PRICE_CURVE_WEIGHT,
        sizes=[ListSize(PRICE_CURVE_COUNT, items_per_unit=SERIES_ITEMS_PER_UNIT)],
        result_units=units_of_spans,
        description="Known rates of the energy in a time range, past and to come: bands of a time-of-use tariff, "
        "prices of a dynamic one. Rates of a block tariff depend on the energy used, so they are left out.",
    )
    cheapest_window: CheapestWindow | None = edge(
        price_queries.cheapest_windows,
        needs=Permission.RESOURCE_READ,
        weight=CHEAPEST_WINDOW_WEIGHT,
        description="Cheapest time for a task that draws a constant power, such as charging a car. Null if the prices "
        "that are known are not long enough.",
    )
    readings: ReadingSeries = edge(
        reading_queries.readings,
        needs=Permission.READINGS_READ,
        weight=per_bucket(2, max_buckets=MAX_BUCKETS),
        sizes=SERIES_SIZES,
        value_fields=VALUE_FIELDS,
        load_values=reading_queries.value_readings,
        description="Readings in a time range, in whole buckets of the time zone: at most 20,000 buckets. Null only "
        "with an error, such as CONSENT_REVOKED.",
    )
    raw_readings: "RawReadings" = edge(
        raw_queries.raw_readings,
        needs=Permission.READINGS_READ,
        weight=stored_reading_count(raw_queries.PAGE_SIZE, weight=STATEMENT_WEIGHT, rows_per_unit=20),
        sizes=[ListSize(stored_reading_count(raw_queries.PAGE_SIZE), ("RawReadings",))],
        description="Page of stored readings without buckets: at most 10,000, oldest first. Readings of a computed "
        "cost resource are available only in buckets.",
    )
    meter_read: "MeterRead" = edge(
        raw_queries.meter_reads,
        needs=Permission.READINGS_READ,
        weight=STATEMENT_WEIGHT,
        description="Newest value of the cumulative register of the meter, which the meter network reads or a display "
        "sends. One from before the household moved in is not returned. Null only with an error.",
    )
    tariffs: list[Tariff] = edge(
        tariff_queries.tariff_histories,
        needs=Permission.RESOURCE_READ,
        weight=2,
        sizes=[ListSize(5)],
        description="All tariffs that came into force until now, newest first.",
    )
    cost: CostExplanation | None = edge(
        cost_queries.explain_costs,
        needs=Permission.READINGS_READ,
        weight=cost_days(15, max_length=cost_queries.MAX_RANGE),
        description="Bill for the energy in a time range of at most 2,000 days. Null if no tariff is known for the "
        "range.",
    )
    no_cost_reason: NoValueReason | None = edge(
        cost_queries.no_cost_reasons,
        needs=Permission.RESOURCE_READ,
        weight=2,
        description="Why `cost` and `costs` of a time range are null. Null if they are not.",
    )
    costs: "CostSeries | None" = edge(
        cost_queries.cost_series,
        needs=Permission.READINGS_READ,
        weight=cost_days(15, max_length=cost_queries.MAX_RANGE),
        sizes=[ListSize(bucket_count(MAX_BUCKETS), ("CostSeries.buckets",), items_per_unit=5)],
        description="Cost of the energy in a time range of at most 2,000 days, in whole buckets of the time zone. Null "
        "if no tariff is known.",
    )
    standby: Standby | None = edge(
        standby_queries.standby,
        needs=Permission.READINGS_READ,
        weight=STANDBY_WEIGHT,
        description="Power that the home always draws, from the nights of the 28 days before today. Null for another "
        "resource than consumption of electricity in kWh.",
    )
    device: "Device | None" = edge(
        device_queries.devices_of_resources,
        needs=Permission.DEVICE_READ,
        weight=2,
        description="Device that supplies the readings. Null if not known.",
    )
    consent: MeterPointConsent | None = edge(
        consents_of_resources,
        needs=Permission.CONSENT_READ,
        description="Consent of the owner to the use of the meter point's data. Null if there is none.",
    )
    owner: Any = owner_edge("resource")
    catch_ups: list[device_types.CatchUp] = edge(
        device_queries.catch_ups,
        needs=Permission.CATCH_UP,
        description="Catch-ups of the resource, newest first. Withheld as its readings are.",
    )


@strawberry.type(description="Type of resource: the measured quantity and how its readings are stored.")
class ResourceType(Node, model=models.ResourceType):
    resource_type_id: ids.ResourceTypeId
    application_id: ids.ApplicationId
    name: terms.Name
    classifier: terms.Classifier
    storage: list[StorageDefinition] = list_field(2, description="How readings are stored.")
    description: terms.Description
    data_source_type: terms.DataSourceType
    data_source_resource_type_info: SourceTypeInfo | None
    label: terms.Label
    base_unit: terms.BaseUnit
    retention_days: terms.RetentionDays | None
    active: terms.Active
    resources: "Connection[Resource]" = connection_edge(
        models.Resource,
        column="resource_type_id",
        where=[col(models.Resource.active).is_(True)],
        needs=Permission.RESOURCE_READ,
        description="Active resources of the type that the caller may see, of all owners.",
    )


@strawberry.type(description="Device in a home that sends readings to the platform, such as a display or a bridge.")
class Device(Node, model=models.Device):
    device_id: ids.DeviceId
    application_id: ids.ApplicationId
    device_type_id: ids.DeviceTypeId
    owner_id: strawberry.ID = strawberry.field(description="ID of the user who owns the device.")
    description: terms.Description
    active: terms.Active
    hardware_id: terms.HardwareId
    hardware_ids: device_types.HardwareIds = strawberry.field(description="Further identifiers of the hardware.")
    parent_hardware_id: terms.ParentHardwareIds
    tags: list[str] = strawberry.field(description="Free-form tags of the device.")
    proof: DeviceProof | None = strawberry.field(
        description="How it was proved that the user may have the device. Null if it was added before devices needed "
        "proof."
    )
    created_at: terms.CreatedAt
    updated_at: terms.UpdatedAt
    type: device_types.DeviceType = edge(
        device_queries.types, needs=Permission.DEVICE_TYPE_READ, description="The device type."
    )
    protocol: device_types.DeviceProtocol = edge(
        device_queries.protocols,
        needs=Permission.DEVICE_READ,
        description="Protocol that the device uses to send readings, and its sensors.",
    )
    status: device_types.DeviceStatus = edge(
        device_queries.statuses,
        needs=Permission.DEVICE_READ,
        weight=4,
        description="Activity of the device, derived from its last packet. Withheld while the data of all its "
        "resources is.",
    )
    freshness: Freshness = edge(
        freshness_queries.device_freshness,
        needs=Permission.DEVICE_READ,
        weight=FRESHNESS_WEIGHT,
        description="Freshness of its newest live reading or its last report about itself. Withheld as `status` is.",
    )
    network_state: device_types.NetworkState | None = edge(
        device_queries.network_states,
        needs=Permission.DEVICE_READ,
        description="Last report of the device about itself. Null if it never sent one. Withheld as `status` is.",
    )
    resources: list[Resource] = edge(
        device_queries.resources,
        needs=Permission.RESOURCE_READ,
        sizes=[ListSize(5)],
        description="Resources that the device supplies with readings.",
    )
    owner: Any = owner_edge("device")


@strawberry.input(description="Resource to add for the acting user.")
class NewResource:
    resource_type_id: ids.ResourceTypeId
    name: terms.Name
    description: terms.Description = ""
    label: terms.Label = ""
    data_source_resource_type_info: SourceTypeInfo | None = None
    data_source_unit_info: SourceUnitInfo | None = None
    mpxn: terms.Text100 | None = strawberry.field(
        default=None, description="Number of the meter point, such as an MPAN (13 digits) or an MPRN in Great Britain."
    )
    cost_of: strawberry.ID | None = strawberry.field(
        default=strawberry.UNSET,
        description="ID of the resource whose cost the new resource has. `mpxn` is that of this resource, or null. "
        "Default, if the classifier ends in .cost: the user's only active resource of the classifier without .cost, "
        "at the same meter point. Null if costs will be recorded.",
    )
    moved_in_at: terms.MovedInAt | None = None


# GraphQL types of stored readings without aggregation, and of readings of meter registers.


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
