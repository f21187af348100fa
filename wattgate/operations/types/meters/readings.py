"""GraphQL types of readings: buckets of a series, readings to record, and freshness."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated

import strawberry

from wattgate.db.readings.reading_series import MAX_BUCKET_OBJECTS
from wattgate.energy.buckets import MAX_BUCKETS
from wattgate.enums import BucketQuality, FreshnessCause, FreshnessState, NoValueReason, ReadingQuality
from wattgate.operations.types.meters.devices import NetworkState
from wattgate.operations.vocabulary import ids
from wattgate.operations.vocabulary.cost_weights import SERIES_ITEMS_PER_UNIT, ListSize, bucket_count
from wattgate.operations.vocabulary.directives import ONLY_ON_ERROR
from wattgate.values import terms
from wattgate.values.annotations import MaxItems

INCLUDES_STANDING_CHARGE = (
    "Whether the values contain the standing charge. Always false for a resource with `costOf`. Null for others, whose "
    "values the gateway does not compute."
)
INCLUDES_VAT = "Whether the values contain VAT. Always true for a resource with `costOf`. Null for others."
"""Descriptions of the fields of all series of readings."""


VALUE_FIELDS = frozenset({"__typename", "buckets", "columns", "count", "end", "mean", "start", "total", "value"})
"""Fields of a series and of its buckets that need no quality, revision or time of receipt of readings."""

SERIES_SIZES = (
    ListSize(bucket_count(MAX_BUCKET_OBJECTS), ("ReadingSeries.buckets",), items_per_unit=SERIES_ITEMS_PER_UNIT),
    ListSize(bucket_count(MAX_BUCKETS), ("BucketColumns",)),
)
"""Lengths of the lists of a series, estimated from its range and period for the cost of a document."""


@strawberry.type(description="One bucket of a series: a time range and its value.")
class Bucket:
    start: datetime = strawberry.field(description="Start of the bucket, inclusive.")
    end: datetime = strawberry.field(description="End of the bucket, exclusive.")
    value: float | None = strawberry.field(
        description="Value of the bucket, by the series' function. Null, never zero, if it has no readings."
    )
    count: int = strawberry.field(description="Number of readings in the bucket.")
    quality: BucketQuality = strawberry.field(description="Quality of the bucket.")
    completeness: float | None = strawberry.field(
        description="Share (0 to 1) of the bucket's samples that are stored. Future samples count as not stored. Null "
        "if sampling is irregular, or if no sample belongs to the bucket."
    )
    estimated: int = strawberry.field(description="Number of readings whose quality is not ACTUAL.")
    revision: int = strawberry.field(
        description="Number that grows when readings of the bucket are replaced by other values, or withdrawn."
    )
    no_value_reason: NoValueReason | None = strawberry.field(
        description="Why the value is null: no readings, or for costs no tariff or price. Null if there is a value."
    )


@strawberry.type(
    description="Buckets of a series as columns of equal length. Items at the same position belong to one bucket."
)
class BucketColumns:
    start: list[datetime] = strawberry.field(description="Start of each bucket, inclusive.")
    end: list[datetime] = strawberry.field(description="End of each bucket, exclusive.")
    value: list[float | None] = strawberry.field(
        description="Value of each bucket, by the series' function. Null, never zero, if the bucket has no readings."
    )
    count: list[int] = strawberry.field(description="Number of readings in each bucket.")
    quality: list[BucketQuality] = strawberry.field(description="Quality of each bucket.")
    completeness: list[float | None] = strawberry.field(
        description="Share (0 to 1) of each bucket's samples that are stored. Null if sampling is irregular, or if no "
        "sample belongs to the bucket."
    )
    estimated: list[int] = strawberry.field(
        description="Number of readings in each bucket whose quality is not ACTUAL."
    )
    revision: list[int] = strawberry.field(
        description="Number of each bucket that grows when readings are replaced by other values, or withdrawn."
    )
    no_value_reason: list[NoValueReason | None] = strawberry.field(
        description="Why the value of each bucket is null. Null where there is a value."
    )


@strawberry.type(description="Value of a series over one time range, by its function.")
class SeriesPart:
    start: datetime = strawberry.field(description="Start of the range, inclusive.")
    end: datetime = strawberry.field(description="End of the range, exclusive.")
    value: float | None = strawberry.field(
        description="Value of the range, by the series' function. Null, never zero, if it has no readings."
    )
    count: int = strawberry.field(description="Number of readings in the range.")
    quality: BucketQuality = strawberry.field(description="Quality of the range.")
    completeness: float | None = strawberry.field(
        description="Share (0 to 1) of the samples that are stored. Null if sampling is irregular."
    )
    no_value_reason: NoValueReason | None = strawberry.field(
        description="Why the value is null: no readings, or for costs no tariff or price. Null if there is a value."
    )


@strawberry.input(description="Reading to record.")
class NewReading:
    at: terms.ReadingInstant
    value: Decimal = strawberry.field(description="Measured value, in the unit of the storage field.")
    quality: terms.QualityOfReading = ReadingQuality.ACTUAL


@strawberry.input(description="Readings to record of one storage field of a resource.")
class NewReadings:
    resource_id: ids.ResourceId
    readings: Annotated[list[NewReading], MaxItems(100_000)] = strawberry.field(description="Readings, in any order.")
    field: terms.ChosenField | None = None


@strawberry.input(
    description="Readings to record of one storage field, as columns of equal length. Items at the same position form "
    "one reading."
)
class NewReadingColumns:
    resource_id: ids.ResourceId
    at: Annotated[list[datetime], MaxItems(100_000)] = strawberry.field(description="Instants of the readings.")
    value: Annotated[list[Decimal], MaxItems(100_000)] = strawberry.field(
        description="Measured values, in the unit of the storage field."
    )
    quality: Annotated[list[ReadingQuality], MaxItems(100_000)] | None = strawberry.field(
        default=None, description="Qualities of the readings. Default: ACTUAL for all."
    )
    field: terms.ChosenField | None = None


@strawberry.type(description="Result of recording readings.")
class Recorded:
    recorded: int = strawberry.field(description="Number of readings that were stored or replaced.")
    without_consent: int = strawberry.field(
        description="Number of readings that were not stored, because they are of a time in which the household's "
        "consent for the meter point was revoked, had expired or was not recorded. Do not send them again."
    )


@strawberry.type(description="A reading that was rejected and not stored.")
class RefusedReading:
    series: int = strawberry.field(description="Position of its series in the call, counted from 0.")
    index: int = strawberry.field(description="Position of the reading in the columns of the series, counted from 0.")
    reason: str = strawberry.field(description="Why the reading was rejected.")


@strawberry.type(description="Result of recording readings in columns.")
class RecordedColumns:
    recorded: int = strawberry.field(description="Number of readings that were stored or replaced.")
    refused: list[RefusedReading] = strawberry.field(description="Readings that were rejected, each with the reason.")


@strawberry.type(description="Reading that was recorded just now.")
class LiveReading:
    resource_id: ids.ResourceId
    field: terms.Field
    unit: terms.Unit
    at: terms.ReadingInstant
    value: terms.MeasuredValue
    quality: terms.QualityOfReading
    position: str = strawberry.field(
        description="Position of this payload, for `since`: the same text as `extensions.position`, for clients that "
        "do not see extensions. Empty until the contents of the database have arrived."
    )


@strawberry.type(description="Newest reading of a resource, or the present cost of an hour.")
class CurrentReading:
    resource_id: ids.ResourceId
    field: str = strawberry.field(
        description="Name of the storage field, such as ENERGY. COST_PER_HOUR for a resource with `costOf`."
    )
    unit: terms.Unit
    at: terms.ReadingInstant
    value: terms.MeasuredValue
    includes_standing_charge: bool | None = strawberry.field(
        description="Whether the value contains the standing charge. Always false for a resource with `costOf`. Null "
        "for others, whose values the gateway does not compute."
    )
    includes_vat: bool | None = strawberry.field(
        description="Whether the value contains VAT. Always true for a resource with `costOf`. Null for others."
    )


# GraphQL types of the freshness of readings and devices.


@strawberry.type(description="Freshness of readings. Do not show a value that is STALE or OFFLINE as current.")
class Freshness:
    state: FreshnessState = strawberry.field(description="Freshness, derived from the age of the newest reading.")
    as_of: datetime | None = strawberry.field(description="End of the newest sample. Null if there is no reading.")
    age_seconds: int | None = strawberry.field(
        description="Age of the newest sample, in seconds. Null if there is no reading."
    )
    expected_every_seconds: int = strawberry.field(
        description="Usual time between new readings, in seconds, learned from the last days or minutes."
    )
    cause: FreshnessCause | None = strawberry.field(
        description="Cause of missing readings. Null while the state is LIVE."
    )


@strawberry.type(description="Freshness of the readings of a resource.")
class ResourceFreshness:
    resource_id: ids.ResourceId
    freshness: Freshness | None = strawberry.field(
        description="Freshness of the storage field with the most frequent readings. Null with the error "
        "CONSENT_REVOKED while the data is withheld.",
        directives=[ONLY_ON_ERROR],
    )


@strawberry.type(description="State of a device: its freshness and its last report.")
class DeviceState:
    device_id: ids.DeviceId
    freshness: Freshness | None = strawberry.field(
        description="Freshness of its newest live reading or its last report about itself. Null with the error "
        "CONSENT_REVOKED while the data of all its resources is withheld.",
        directives=[ONLY_ON_ERROR],
    )
    network_state: NetworkState | None = strawberry.field(
        description="Last report of the device about itself. Null if it never sent one, and if `freshness` is withheld."
    )
